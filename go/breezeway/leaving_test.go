package breezeway

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

func TestLeavingSessionEndsBesideUnrepliedAbandonedCalls(t *testing.T) {
	may, began := make(chan struct{}), make(chan struct{}, 1)
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error {
			began <- struct{}{}
			<-may
			return call.Echo()
		}, WithOffload(4))
	t.Cleanup(func() { close(may) })
	client := NewClient(address)
	defer client.Close()
	conn, err := client.Session(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := client.Call(ctx, 0, nil)
		ended <- err
	}()
	soon(t, "the call", began)
	sessionOf(t, server).goAway()
	ctx2, cancel2 := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel2()
	_, _ = client.Call(ctx2, 0, nil) // It moves to another session.
	cancel()
	if err := soon(t, "the end of the call", ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	soon(t, "the session's end", conn.Done())
}

func TestASessionThatIsLeftEndsWithTheReplyToItsLastCall(t *testing.T) {
	began, reply := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error {
			close(began)
			<-reply
			return call.Echo()
		}, WithOnSessionEnd(func(_ Peer, err error) { ended <- err }), WithWaitPolicy(Park))
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
	session := server.all()[0]
	server.leave()
	// closeOnceIdle sleeps, since the handler runs.
	until(t, session, "its sleep", func() bool {
		return session.leaving && session.isDriven() && session.link.counters().Sleeps > 0
	})
	close(reply)
	if err := soon(t, "the reply", answered); err != nil {
		t.Error(err)
	}
	if err := soon(t, "the session's end", ended); err != nil {
		t.Error(err)
	}
}

func TestLeavingClientEndsBesideUnacceptedStream(t *testing.T) {
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error { return call.Echo() })
	conn, err := Dial(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // The first is accepted, the second is not.
		out := outgoing{empty: true}
		stream, err := sessionOf(t, server).openStream(contextOf(t), 0, &out, false)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
	}
	if _, err := conn.Call(contextOf(t), 0, nil); err != nil { // They arrive before the reply.
		t.Fatal(err)
	}
	accepted, err := conn.AcceptStream(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{})
	go func() {
		conn.session.closeOnceIdle()
		close(left)
	}()
	until(t, conn.session, "the wait", func() bool { return conn.session.leaving })
	if err := conn.Err(); err != nil {
		t.Errorf("it has ended with a stream under way: %v", err)
	}
	_ = accepted.Close()
	soon(t, "the end", left)
}

func TestLeftSessionSendsWholeRepliesToASlowClient(t *testing.T) {
	const size = 2 << 20
	for name, last := range map[string][]lastEntry{"shut down": {shutsDown}, "open": nil} {
		t.Run(name, func(t *testing.T) {
			address := "unix:" + filepath.Join(t.TempDir(), "s")
			server, _ := quietServer(t, address, func(_ context.Context, call *Call) error {
				return call.Reply(make([]byte, size))
			})
			client := dialByHand(t, address, smallHello())
			s := sessionOf(t, server)
			s.setLinger(linger / 2)
			asks(client, 1, last...)
			until(t, s, "the reply", func() bool {
				return s.hasBacklog() && (s.ending() != nil) == (last != nil)
			})
			go s.closeOnceIdle()
			want := proto.FrameLen + size
			if last == nil {
				want += proto.FrameLen // This side's shutdown.
			}
			if taken := client.takesSlowly(128<<10, linger/10); taken != want {
				t.Errorf("%d of %d bytes came", taken, want)
			}
		})
	}
}

func TestLeftSessionGoesOnWhileAStreamIsOpenOnIt(t *testing.T) {
	opened, may := make(chan struct{}), make(chan struct{})
	defer close(may)
	hello := smallHello()
	hello.MaxStreams, hello.StreamMessages, hello.StreamBytes = 1, 1, 1
	client, s := leavesWithABacklog(t, &Server{streams: func(context.Context, *Stream) {
		close(opened)
		<-may
	}}, hello)
	client.says(lastEntry{proto.FlagOpen | proto.FlagStream, 3, "x"})
	soon(t, "the stream", opened)
	for range 3 {
		if s.lingersOut(); s.isOver() {
			t.Fatal("the session has ended while a stream is open")
		}
	}
}

func TestLeftSessionEndsForRepliesThatItsClientLeaves(t *testing.T) {
	ended := make(chan error, 1)
	_, s := leavesWithABacklog(t, &Server{}, smallHello(),
		WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
	for range 3 {
		s.lingersOut()
	}
	if err := soon(t, "the session's end", ended); !errors.Is(err, errUnread) {
		t.Error(err)
	}
}

// leavesWithABacklog has a session that a client has asked for a reply of 1 MiB closed once idle.
func leavesWithABacklog(t *testing.T, server *Server, hello proto.Hello,
	opts ...ServerOption) (*byHand, *session) {
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	server.handler = func(_ context.Context, call *Call) error {
		return call.Reply(make([]byte,
			1<<20))
	}
	serveQuietly(t, server, address, opts...)
	client := dialByHand(t, address, hello)
	s := sessionOf(t, server)
	s.setLinger(time.Hour)
	asks(client, 1)
	until(t, s, "the reply", func() bool { return s.hasBacklog() && s.rules.IsIdle() })
	go s.closeOnceIdle()
	until(t, s, "the wait for the client", func() bool { return s.lateness != nil })
	return client, s
}
