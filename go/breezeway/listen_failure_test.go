package breezeway

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestListenFailureReachesClientsAndLog(t *testing.T) {
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	var mu sync.Mutex
	var log bytes.Buffer
	server := &Server{handler: echoCall, log: slog.New(slog.NewTextHandler(writer(
		func(line []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(line)
		}), nil))}
	if err := server.listen(address); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	sessionOf(t, server)
	_ = server.bound[0].socket.(*net.UnixListener).SetDeadline(longAgo)
	for end := time.Now().Add(10 * time.Second); !errors.Is(err, ErrGoingAway); {
		_, err = conn.Call(contextOf(t), 0, nil)
		if err != nil && !errors.Is(err, ErrGoingAway) || time.Now().After(end) {
			t.Errorf("a call to a server that cannot listen: %v", err)
			break
		}
	}
	_ = conn.Close()
	if err := soon(t, "the end of Serve", served); err == nil || errors.Is(err, ErrServerClosed) {
		t.Errorf("Serve gave %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("it has logged %q", &log)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(bytes []byte) (int, error) { return w(bytes) }

func TestAListenerWithAClientThatCannotServeAnyMoreSaysWhy(t *testing.T) {
	listener, err := ListenNet("unix:"+filepath.Join(t.TempDir(), "s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	listener.server.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	conn, err := Dial(contextOf(t), listener.Addr().(Address).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	session := sessionOf(t, listener.server)
	session.mu.Lock() // Sending the go-away takes a while.
	_ = listener.server.bound[0].socket.(*net.UnixListener).SetDeadline(longAgo)
	accepted := make(chan error, 1)
	go func() {
		_, err := listener.Accept()
		accepted <- err
	}()
	err = soon(t, "the end of Accept", accepted)
	session.mu.Unlock()
	if err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept gave %v", err)
	}
	_ = conn.Close()
	_ = listener.Shutdown(contextOf(t))
}

func TestAListenerThatCannotServeAnyMoreSaysWhy(t *testing.T) {
	listener, err := ListenNet("unix:"+filepath.Join(t.TempDir(), "s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.server.bound[0].socket.(*net.UnixListener).SetDeadline(longAgo)
	accepted := make(chan error, 1)
	go func() {
		_, err := listener.Accept()
		accepted <- err
	}()
	err = soon(t, "the end of Accept", accepted)
	if err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept gave %v", err)
	}
	_ = listener.Shutdown(contextOf(t))
}
