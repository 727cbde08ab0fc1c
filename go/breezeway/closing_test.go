package breezeway

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestRoomWaiterGetsEndOfPeer(t *testing.T) {
	address := lyingServer(t, func(l *liar) {
		// The client reads nothing of its ring, and leaves once the ring is full and the peer
		// asleep.
		_, _ = io.CopyN(io.Discard, l.conn, 1)
		l.close()
	})
	conn, err := Dial(context.Background(), address, WithWaitPolicy(Park))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	for range cap(ended) { // One drives, the other one follows.
		go func() {
			for {
				if err := conn.Post(context.Background(), 0, []byte("never read")); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	go func() { // The byte from the server to wait for, once both wait.
		for {
			conn.session.mu.Lock()
			waiting := len(conn.session.roomWaiters)
			conn.session.mu.Unlock()
			if waiting == cap(ended) {
				_ = conn.session.raw.Control(func(fd uintptr) {
					_, _ = unix.Write(int(fd), []byte{0})
				})
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	for range cap(ended) {
		if err := soon(t, "the end of a post", ended); !errors.Is(err, ErrPeerDied) {
			t.Errorf("a post ended with %v", err)
		}
	}
}

func TestAHandlerLearnsThatItsClientIsGone(t *testing.T) {
	// More calls than handlers: the goroutine of the session waits for one of them.
	cancelled := make(chan error, 4)
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), func(ctx context.Context,
		call *Call) error {
		<-ctx.Done()
		cancelled <- context.Cause(ctx)
		return call.Echo()
	}, WithOffload(2))
	conn, err := Dial(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	for range cap(cancelled) {
		go func() { _, _ = conn.Call(context.Background(), 0, nil) }()
	}
	until(t, conn.session, "all calls are in flight",
		func() bool { return conn.session.rules.Calls.InFlight() == cap(cancelled) })
	_ = conn.Close()
	for range cap(cancelled) {
		err := soon(t, "the end of a call's context", cancelled)
		if !errors.Is(err, ErrPeerClosed) {
			t.Errorf("the context ended for %v", err)
		}
	}
}

func TestASessionEndsWhileItsBacklogIsBeingWritten(t *testing.T) {
	_, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error { return nil })
	conn, err := Dial(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	s := conn.session
	s.mu.Lock()
	// The writer runs, and waits for the lock that the end holds.
	s.socket.writing = true
	entered := make(chan struct{})
	go func() {
		_ = s.raw.Write(func(uintptr) bool {
			close(entered)
			s.mu.Lock()
			defer s.mu.Unlock()
			return true
		})
		s.writeBacklog()
	}()
	<-entered
	ended := make(chan struct{})
	go func() {
		s.finish(ErrClosed)
		s.mu.Unlock()
		close(ended)
	}()
	soon(t, "the session's end", ended)
	eventually(t, "the connection's end",
		func() bool { return errors.Is(s.conn.SetDeadline(time.Time{}), net.ErrClosed) })
}

func TestClientsThatReadNothingAreNotWaitedForInTurn(t *testing.T) {
	const stalled = 30
	began := make(chan Peer, stalled)
	server, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), nil,
		WithOnSessionStart(func(p Peer) { began <- p }))
	where, _ := ParseAddress(address)
	for range stalled {
		conn, err := net.Dial("unix", where.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		own := defaults()
		if _, err := conn.Write(own.hello(false).Encode()); err != nil {
			t.Fatal(err)
		}
		soon(t, "the session", began)
	}
	for _, s := range server.all() {
		s.mu.Lock()
		for !s.hasBacklog() {
			if err := s.transmit(crossedReset, &outgoing{bytes: make([]byte, 64<<10)}); err != nil {
				t.Error(err)
				break
			}
			s.flush()
		}
		s.mu.Unlock()
	}
	closed := make(chan error)
	go func() { closed <- server.Close() }()
	soon(t, "the server's end", closed)
}

func TestAServerThatClosesRepliesToTheCallThatItServes(t *testing.T) {
	for _, carrier := range []string{"shm", "unix"} {
		for name, offload := range map[string]int{"": 0, " offloaded": 4} {
			t.Run(carrier+name, func(t *testing.T) { repliesAsItCloses(t, carrier, offload) })
		}
	}
}

func repliesAsItCloses(t *testing.T, carrier string, offload int) {
	began, release := make(chan struct{}), make(chan struct{})
	server, address := quietServer(t, carrier+":"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error {
			close(began)
			<-release
			return call.Echo()
		}, WithOffload(offload), WithReplyTimeout(time.Minute))
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() { answered <- call(context.Background(), conn) }()
	soon(t, "the call", began)
	session := server.all()[0]
	closed := make(chan error, 1)
	go func() { closed <- server.Close() }()
	until(t, session, "the session waits for its call", session.rules.Served.HasStopped)
	close(release)
	if err := soon(t, "the reply", answered); err != nil {
		t.Error(err)
	}
	soon(t, "the server's end", closed)
}

func TestAServerThatClosesWaitsNoLongerForACallThanReplyTimeout(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error {
			close(began)
			<-release
			return call.Echo()
		}, WithReplyTimeout(time.Millisecond))
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() { answered <- call(context.Background(), conn) }()
	soon(t, "the call", began)
	closed := make(chan error, 1)
	go func() { closed <- server.Close() }()
	soon(t, "the server's end", closed)
	if err := soon(t, "the call's end", answered); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("the call ended with %v", err)
	}
	close(release)
}

func TestAServerIsClosedAsASessionBegins(t *testing.T) {
	for range 50 { // Only the race detector finds faults here.
		began := make(chan struct{}, 1)
		server, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), nil,
			WithOffload(1),
			WithOnSessionStart(func(Peer) { began <- struct{}{} }))
		dialled := make(chan *Session, 1)
		go func() {
			conn, _ := Dial(context.Background(), address)
			dialled <- conn
		}()
		soon(t, "the session", began)
		_ = server.Close()
		if conn := soon(t, "the dial's end", dialled); conn != nil {
			_ = conn.Close()
		}
	}
}
