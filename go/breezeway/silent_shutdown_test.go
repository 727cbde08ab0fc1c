package breezeway

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// silentClient returns the server's end of a TCP connection whose client sends nothing.
func silentClient(t *testing.T) net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestSilentClientRefusedOverTLSDelaysNoShutdown(t *testing.T) {
	for _, isStopped := range []bool{false, true} {
		server, _ := quietServer(t, "tls:127.0.0.1:0", echoCall, WithHandshakeTimeout(time.Hour),
			WithTLSConfig(&tls.Config{Certificates: []tls.Certificate{{}}}))
		if isStopped {
			server.stopListening()
		}
		server.refuseBusy(silentClient(t), TLS, ErrServerClosed)
		ended := make(chan error, 1)
		go func() { ended <- server.Shutdown(contextOf(t)) }()
		if err := soon(t, "Shutdown", ended); err != nil {
			t.Error(err)
		}
	}
}

func TestSilentClientThatEnteredBeforeTheStopHasAMoment(t *testing.T) {
	server, _ := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), echoCall,
		WithHandshakeTimeout(time.Hour))
	_, conn := pair(t)
	if err := server.enter(conn); err != nil {
		t.Fatal(err)
	}
	server.stopListening()
	begun, ended := time.Now(), make(chan struct{})
	go func() {
		server.serveConn(conn, Unix)
		close(ended)
	}()
	soon(t, "the handshake's end", ended)
	if time.Since(begun) < linger/2 {
		t.Error("an honest client would not get its session")
	}
}

func TestHandshakeKeepsTheDeadlineOfAContextThatHasEnded(t *testing.T) {
	_, conn := pair(t)
	opts, err := dialOptions([]DialOption{WithHandshakeTimeout(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(longAgo)
	ended := make(chan error, 1)
	go func() {
		_, _, err := clientSession(conn, Address{Carrier: Unix}, opts, nil)
		ended <- err
	}()
	if soon(t, "the handshake's end", ended) == nil {
		t.Error("a session with a silent server")
	}
}
