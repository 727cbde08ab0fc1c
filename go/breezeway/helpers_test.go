package breezeway

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// pair returns both ends of a connection.
func pair(t *testing.T) (one, other *net.UnixConn) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	one, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	other, err = listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = one.Close()
		_ = other.Close()
	})
	return one, other
}

// soon fails the test if an event does not happen.
func soon[T any](t *testing.T, what string, done <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-done:
	case <-time.After(10 * time.Second):
		t.Fatal(what + " does not happen")
	}
	return value
}

// lyingServer accepts one session by hand.
func lyingServer(t *testing.T, serve func(l *liar)) string {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		hello, fds, err := receiveHello(conn, nil)
		defer closeAll(fds)
		if err != nil {
			return
		}
		l := &liar{t: t, conn: conn, peer: hello}
		if l.control, err = segment.Map(fds[0], proto.ControlSize(hello.RingCapacity)); err != nil {
			t.Error(err)
			return
		}
		l.greet()
		serve(l)
		l.control.Drop()
	}()
	return "shm:" + path
}

func quietServer(t *testing.T, addr string, handler Handler, opts ...ServerOption) (*Server,
	string) {
	server := &Server{handler: handler}
	serveQuietly(t, server, addr, opts...)
	return server, server.Addresses()[0].String()
}

// serveQuietly serves without a log until the test's end.
func serveQuietly(t *testing.T, server *Server, addr string, opts ...ServerOption) {
	server.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	if err := server.listen(addr, opts...); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		_ = server.Close()
		soon(t, "the server's end", served)
	})
}

// turnUntil drives a session by hand.
func (s *session) turnUntil(ready func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !ready() {
		s.takeTurns(catchUpTurns, false)
	}
}

// contextOf returns a context that bounds a test's waits.
func contextOf(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (s *session) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// setLinger sets how long a session waits at its end for a client that takes nothing.
func (s *session) setLinger(linger time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linger = linger
}

// lingersOut runs lingered in place of its timer.
func (s *session) lingersOut() {
	s.mu.Lock()
	if s.lateness != nil {
		s.lateness.Stop()
	}
	s.mu.Unlock()
	s.lingered()
}

func echoCall(_ context.Context, call *Call) error { return call.Echo() }
