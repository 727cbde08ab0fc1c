package breezeway

import (
	"io"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestUnacceptedConnsOfEndedSessionsAreBounded(t *testing.T) {
	listener, err := ListenNet("unix:"+filepath.Join(t.TempDir(), "s"), nil,
		WithMaxStreams(fewStreams))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Shutdown(contextOf(t))
	const sessions = 50
	before := runtime.NumGoroutine()
	for range sessions {
		conn, err := Dial(contextOf(t), listener.Addr().(Address).String())
		if err != nil {
			t.Fatal(err)
		}
		for range fewStreams {
			connection, err := conn.DialNet(contextOf(t))
			if err == nil {
				_, err = connection.Write([]byte("nobody reads this"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_ = conn.Close()
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		more := runtime.NumGoroutine() - before
		if more < sessions {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines more", more)
		}
	}
}

func TestConnsOfGoneClientAreStillAccepted(t *testing.T) {
	listener, err := ListenNet("shm:"+filepath.Join(t.TempDir(), "s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Shutdown(contextOf(t))
	conn, err := Dial(contextOf(t), listener.Addr().(Address).String())
	if err != nil {
		t.Fatal(err)
	}
	connection, err := conn.DialNet(contextOf(t))
	if err == nil {
		_, err = connection.Write([]byte("a last word"))
	}
	if err != nil {
		t.Fatal(err)
	}
	session := sessionOf(t, listener.server)
	_ = conn.Close()
	soon(t, "the session's end", session.done)
	accepted := make(chan string, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			accepted <- err.Error()
			return
		}
		defer connection.Close()
		bytes := make([]byte, 11)
		_, _ = io.ReadFull(connection, bytes)
		accepted <- string(bytes)
	}()
	if word := soon(t, "accepting", accepted); word != "a last word" {
		t.Errorf("it said %q", word)
	}
}
