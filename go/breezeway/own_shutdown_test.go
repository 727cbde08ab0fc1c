package breezeway

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// backlog leaves more bytes to a session's socket than it accepts, and fewer than make senders
// wait. Close waits for them within linger.
func (s *session) backlog(t *testing.T, head proto.Head, body []byte, linger time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linger = linger
	for range 100 {
		if s.socket.flush(); s.hasBacklog() {
			return
		}
		for sent := 0; sent < 64<<10; sent += proto.FrameLen + len(body) {
			_ = s.transmit(head, &outgoing{bytes: body})
		}
	}
	t.Error("the socket takes everything")
}

// closing returns a client's session that is being closed, with a stream, while its server reads
// nothing.
func closing(t *testing.T, linger time.Duration) (conn *Session, stream *Stream,
	closed chan error) {
	conn, err := Dial(contextOf(t), stoppedServer(t))
	if err != nil {
		t.Fatal(err)
	}
	stream, err = conn.Open(contextOf(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	s := conn.session
	head := proto.Head{Kind: proto.KindMessage, Stream: stream.state.Number()}
	s.backlog(t, head, make([]byte, 64<<10),
		linger)
	closed = make(chan error, 1)
	go func() { closed <- conn.Close() }()
	until(t, s, "Close waits", func() bool { return s.isDriven() && s.rules.Ending.HasBegun() })
	return conn, stream, closed
}

func TestNothingIsSentBehindTheFarewell(t *testing.T) {
	conn, stream, closed := closing(t, time.Minute)
	s := conn.session
	if err := stream.Send(contextOf(t), []byte("behind it")); !errors.Is(err, ErrClosed) {
		t.Errorf("Send gave %v", err)
	}
	if err := conn.Post(contextOf(t), 0, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Post gave %v", err)
	}
	s.mu.Lock()
	if !s.hasBacklog() {
		t.Error("Close does not wait any more")
	}
	s.finish(ErrClosed)
	s.mu.Unlock()
	soon(t, "Close", closed)
}

func TestPendingEntryBehindShutdownIsNotSearchedRepeatedly(t *testing.T) {
	conn, stream, closed := closing(t, time.Second)
	stream.Reset(CodeCancelled)
	conn.session.interrupt()
	soon(t, "Close", closed)
	if sleeps := conn.session.socket.sleeps; sleeps > 20 {
		t.Errorf("it has gone to sleep %d times meanwhile", sleeps)
	}
}

func TestAReplyBehindTheFarewellEndsNoSession(t *testing.T) {
	began, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	server, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error {
			close(began)
			<-release
			return call.Echo()
		}, WithOffload(1), WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Call(contextOf(t), 0, nil)
		answered <- err
	}()
	soon(t, "the call", began)
	s := sessionOf(t, server)
	conn.session.mu.Lock() // It reads nothing in between.
	s.backlog(t, crossedReset, nil, time.Minute)
	past, cancel := context.WithCancel(context.Background())
	cancel()
	go func() { _ = server.Shutdown(past) }()
	until(t, s, "Close waits", func() bool { return s.isDriven() && s.rules.Ending.HasBegun() })
	close(release)
	until(t, s, "the handler's end",
		func() bool { return s.rules.Served.Running() == 0 || s.err != nil })
	conn.session.mu.Unlock()
	if err := soon(t, "the call's end", answered); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("the call ended with %v", err)
	}
	if err := soon(t, "the session's end", ended); err != nil {
		t.Errorf("the session ended with %v", err)
	}
}

func TestAReplyThatWaitsForMemoryDoesNotOutliveItsClient(t *testing.T) {
	const size, most = 600_000, 1 << 20 // There is memory for one.
	ended := make(chan error, 1)
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error { return call.Reply(make([]byte, size)) },
		WithReplyTimeout(time.Minute), WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
	conn, err := Dial(contextOf(t), address, WithCap(most))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	kept, err := conn.Call(contextOf(t), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = conn.Call(context.Background(), 0, nil) }()
	s := sessionOf(t, server)
	until(t, s, "the wait for memory", func() bool {
		return s.memoryWaits > 0 && len(s.roomWaiters) > 0
	})
	_ = conn.Close()
	if err := soon(t, "the session's end", ended); err != nil {
		t.Errorf("the session ended with %v", err)
	}
	kept.Release()
}

func TestAServerThatClosesBehindAShutdownSaysNone(t *testing.T) {
	var began, may chan struct{}
	var server *Server
	newServer := func() *Server {
		began, may = make(chan struct{}), make(chan struct{})
		mine, mineToo := began, may
		server = &Server{handler: func(_ context.Context, call *Call) error {
			close(mine)
			<-mineToo
			return call.Echo()
		}}
		return server
	}
	// It does not wait for the call.
	onShutdown(t, newServer, []ServerOption{WithOffload(1), WithReplyTimeout(time.Millisecond)},
		func(t *testing.T, client lastClient, s *session, ended <-chan error) {
			client.says(lastEntry{proto.RequestFlags, 1, "x"}, shutsDown)
			soon(t, "the call", began)
			until(t, s, "the shutdown", func() bool { return s.ending() != nil })
			_ = server.Close()
			if heard := client.hears(); len(heard) > 0 {
				t.Errorf("behind the shutdown came %v", heard)
			}
			close(may)
			soon(t, "the session's end", ended)
		})
}
