package breezeway

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

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
		hello, fds, err := receiveHello(conn)
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

func quietServer(t *testing.T, addr string, handler Handler, opts ...Option) (*Server, string) {
	server := &Server{Handler: handler}
	serveQuietly(t, server, addr, opts...)
	return server, server.Addresses()[0].String()
}

// serveQuietly serves without a log until the test's end.
func serveQuietly(t *testing.T, server *Server, addr string, opts ...Option) {
	server.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	if err := server.Listen(addr, opts...); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		_ = server.Close()
		soon(t, "the server's end", served)
	})
}

func TestWhoWaitsForRoomLearnsThatTheOtherSideIsGone(t *testing.T) {
	address := lyingServer(t, func(l *liar) {
		// The client reads nothing of its ring, and leaves once the ring is full and the peer
		// asleep.
		_, _ = io.CopyN(io.Discard, l.conn, 1)
		l.close()
	})
	conn, err := Dial(context.Background(), address, Wait(Park))
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
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), func(call *Call) error {
		<-call.Context().Done()
		cancelled <- context.Cause(call.Context())
		return call.Echo()
	}, Offload(2))
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
		func(call *Call) error { return nil })
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
		OnSessionStart(func(p Peer) { began <- p }))
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

func TestASessionThatBeginsWhileTheServerDrainsIsSentAway(t *testing.T) {
	draining := make(chan struct{})
	drained := make(chan error, 1)
	var server *Server
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(call *Call) error { return call.Echo() },
		Authorize(func(Peer) error {
			<-draining
			return nil
		}))
	connected := make(chan *Conn, 1)
	go func() {
		conn, _ := Dial(context.Background(), address)
		connected <- conn
	}()
	eventually(t, "the handshake", func() bool {
		server.mu.Lock()
		defer server.mu.Unlock()
		return len(server.pending) > 0
	})
	go func() { drained <- server.Shutdown(context.Background()) }()
	eventually(t, "draining", server.isClosed)
	close(draining)
	conn := soon(t, "the handshake's end", connected)
	if conn == nil {
		t.Fatal("no session")
	}
	for err := error(nil); !errors.Is(err, ErrGoingAway); {
		if _, err = conn.Call(contextOf(t), 0, nil); err != nil && !errors.Is(err, ErrGoingAway) {
			t.Fatalf("a call to a server that drains: %v", err)
		}
	}
	_ = conn.Close()
	soon(t, "the server's draining", drained)
}

func TestWhoIsSentAwayFromANewSessionDialsAgainAndNotForEver(t *testing.T) {
	server, _ := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"),
		func(call *Call) error { return call.Echo() })
	server.Streams, server.opts.maxStreams = func(*Stream) {}, 1
	begins := map[string]func(address string) error{
		"a call": func(address string) error {
			client := NewClient(address)
			defer client.Close()
			_, err := client.Call(contextOf(t), 0, nil)
			return err
		},
		"a connection": func(address string) error {
			dialer := NewNetDialer(address)
			defer dialer.Close()
			_, err := dialer.Dial(contextOf(t))
			return err
		},
	}
	for name, begin := range begins {
		for _, leaving := range []int{1, resends, resends + 1} {
			t.Run(fmt.Sprint(name, " after ", leaving), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "s")
				listener, err := net.Listen("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				defer listener.Close()
				go sendsAway(listener, leaving, server)
				err = begin("unix:" + path)
				if leaving <= resends && err != nil {
					t.Fatal(err)
				}
				if leaving > resends && !errors.Is(err, ErrGoingAway) {
					t.Fatalf("it ended with %v", err)
				}
			})
		}
	}
}

// sendsAway ends leaving sessions with a go-away after the hello, and passes later ones to a
// server.
func sendsAway(listener net.Listener, leaving int, next *Server) {
	for ; ; leaving-- {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if leaving <= 0 {
			if next.enter(conn) == nil {
				go next.serveConn(conn, Unix)
			}
			continue
		}
		defer conn.Close()
		if _, _, err := receiveHello(conn); err != nil {
			return
		}
		own := defaults()
		hello := own.hello(false)
		_, _ = conn.Write(proto.AppendFrame(hello.Encode(), proto.Head{Kind: proto.KindGoAway}, 0))
	}
}

func TestASessionThatIsLeftEndsWithTheReplyToItsLastCall(t *testing.T) {
	began, reply := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(call *Call) error {
			close(began)
			<-reply
			return call.Echo()
		}, OnSessionEnd(func(_ Peer, err error) { ended <- err }), Wait(Park))
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

func TestAServerSaysOnceThatItGoesAway(t *testing.T) {
	for _, streams := range []int{0, 8} {
		t.Run(fmt.Sprint(streams, " streams"), func(t *testing.T) { saysOnce(t, streams) })
	}
}

func saysOnce(t *testing.T, streams int) {
	began, end := make(chan struct{}), make(chan struct{})
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(call *Call) error {
			close(began)
			<-end
			return call.Echo()
		})
	conn, err := Dial(contextOf(t), address, MaxStreams(streams))
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
	for range 3 {
		for _, session := range server.all() {
			session.goAway()
		}
	}
	close(end)
	// The reply follows them, and a second one would have ended the session.
	if err := soon(t, "the reply", answered); err != nil {
		t.Fatal(err)
	}
	_, err = conn.Call(contextOf(t), 0, nil)
	if !errors.Is(err, ErrGoingAway) || MayHaveRun(err) {
		t.Fatalf("a call to a server that goes away: %v", err)
	}
}

func TestAHelloWithManyDescriptorsIsRefusedAtOnce(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), nil,
		HandshakeTimeout(time.Hour))
	where, _ := ParseAddress(address)
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: where.Path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l := &liar{t: t, conn: conn}
	for _, b := range liarHello.Encode()[:3] {
		l.sendFDs(b, 0)
	}
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	hello := make([]byte, proto.HelloLen)
	if _, err := io.ReadFull(conn, hello); err != nil {
		t.Fatalf("no answer: %v", err)
	}
	if status := binary.LittleEndian.Uint32(hello[40:]); status != proto.RefusedViolation {
		t.Fatalf("status %d", status)
	}
}

func TestAnUrgentByteOfAHelloIsReadWithItsDescriptorsLikeAnyOther(t *testing.T) {
	ours, theirs := pair(t)
	_ = ours.SetDeadline(time.Now().Add(10 * time.Second))
	l := &liar{t: t, conn: theirs}
	l.sendUrgently(liarHello.Encode()[0], 0, 0)
	_, fds, err := receiveHello(ours)
	closeAll(fds)
	if refusalOf(err) != proto.RefusedViolation {
		t.Fatalf("the hello gave %v", err)
	}
}

func TestABacklogThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	link := &socketLink{limit: 1 << 20, writing: true}
	sent := bytes.Repeat([]byte{7}, 4096)
	for i := 0; i < 10_000; i++ {
		head := proto.Head{Kind: proto.KindMessage}
		if err := link.send(head, &outgoing{bytes: sent}); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			link.sent += 4096 + proto.FrameLen // A reader one message behind takes that.
		}
	}
	if cap(link.out) > 4*proto.MaxUnwritten {
		t.Fatalf("%d bytes are kept for %d that wait", cap(link.out), len(link.out)-link.sent)
	}
	if !bytes.Equal(link.out[link.sent+proto.FrameLen:], sent) {
		t.Fatal("the message that waits has changed")
	}
}

func TestArrivalsThatNeverRunOutDoNotGrow(t *testing.T) {
	s := &session{ledger: new(ledger)}
	for i := uint32(0); i < 10_000; i++ {
		s.arrive(&proto.Head{Stream: i}, &Message{}, nil)
		if i > 0 {
			var a arrival
			if s.nextArrival(&a); a.head.Stream != i-1 {
				t.Fatalf("arrival %d in place of %d", a.head.Stream, i-1)
			}
		}
	}
	if cap(s.arrivals) > 16 {
		t.Fatalf("room for %d arrivals, one waits", cap(s.arrivals))
	}
}

func TestAskingWhetherAConnectionIsActiveEndsHoweverMuchTheOtherSideSends(t *testing.T) {
	_, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), nil)
	conn, err := Dial(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := conn.session
	const sent = 3 * catchUpTurns * entriesPerTurn
	s.mu.Lock()
	for range sent {
		s.socket.in = proto.AppendFrame(s.socket.in, crossedReset, 0)
	}
	s.mu.Unlock()
	for asked := 1; ; asked++ {
		s.catchUp()
		s.mu.Lock()
		left := (len(s.socket.in) - s.socket.from) / proto.FrameLen
		s.mu.Unlock()
		if left == 0 && asked > 1 {
			return
		}
		if want := sent - asked*catchUpTurns*entriesPerTurn; left != want {
			t.Fatalf("of %d messages %d are left after %d turns", sent, left, asked)
		}
	}
}

func TestASecondReplyBreaksARule(t *testing.T) {
	options := defaults()
	hello := options.hello(true)
	s := &session{rules: proto.NewSession[*waiter, *Stream](true, hello, hello, false)}
	s.rules.Calls.Begin(1, &waiter{ch: make(chan bool, 1)}).Sent()
	head := proto.Head{Kind: proto.KindMessage, Flags: proto.FlagFin, Stream: 1}
	s.in.entry.Head = head
	if err := s.dispatch(); err != nil {
		t.Fatal(err)
	}
	var broken *ViolationError
	if err := s.dispatch(); !errors.As(err, &broken) {
		t.Fatalf("a second reply before the first was taken: %v", err)
	}
}

func TestAReplyToARequestThatWaitsForRoomBreaksARule(t *testing.T) {
	const ring = 8
	answered := make(chan struct{})
	address := lyingServer(t, func(l *liar) {
		// The peer reads nothing of its ring, and replies to the call that does not fit into it.
		for l.control.Load(proto.SpaceWakeAt) == proto.Idle {
			time.Sleep(time.Millisecond)
		}
		head := proto.Head{Kind: proto.KindMessage, Flags: proto.FlagFin, Stream: 2*ring + 1}
		l.publish(head, 0, nil)
		<-answered
		l.close()
	})
	conn, err := Dial(contextOf(t), address, RingCapacity(ring), Wait(Park))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer close(answered)
	for range ring {
		if err := conn.Post(contextOf(t), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Call(contextOf(t), 0, nil); !errors.As(err, new(*ViolationError)) {
		t.Fatalf("the call ended with %v", err)
	}
}

func TestACallWhoseContextIsDoneIsNotSent(t *testing.T) {
	served := make(chan struct{}, 1)
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), func(call *Call) error {
		served <- struct{}{}
		return call.Echo()
	})
	conn, err := Dial(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := conn.Call(ctx, 0, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if sent := conn.Counters().EntriesPublished; sent != 0 {
		t.Fatalf("%d entries were sent", sent)
	}
}

func TestEchoingAReleasedRequestFailsTheCallAndNotTheSession(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), func(call *Call) error {
		call.Request().Release()
		return call.Echo()
	})
	conn, err := Dial(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 2 {
		var failure *CallError
		_, err := conn.Call(context.Background(), 0, make([]byte, 1000))
		if !errors.As(err, &failure) {
			t.Fatalf("the call ended with %v", err)
		}
	}
}

func TestAWindowThatFoundNoSlotIsGivenBackOnceThereIsOne(t *testing.T) {
	const ring, window = 8, 2
	given := make(chan struct{})
	address := lyingServer(t, func(l *liar) {
		for range window {
			l.publish(proto.Head{Kind: proto.KindMessage, Stream: 1}, 0, []byte("message"))
		}
		// A sleeper announces the position at which it is to be woken.
		for l.control.Load(proto.SpaceWakeAt) == proto.Idle {
			time.Sleep(time.Millisecond)
		}
		l.own.Store(proto.ConsumedAt, ring)
		l.ring()
		for l.control.Load(proto.RingAt) != ring+1 {
			time.Sleep(time.Millisecond)
		}
		close(given)
		l.close()
	})
	conn, err := Dial(context.Background(), address, RingCapacity(ring),
		StreamWindow(window, 1<<20),
		Wait(Park))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := conn.Open(contextOf(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	for range ring - 1 {
		if err := conn.Post(contextOf(t), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	conn.session.turnUntil(func() bool { return stream.queue.len() == window })
	go func() { _, _ = conn.AcceptStream(context.Background()) }()
	eventually(t, "its sleep", func() bool { return conn.Counters().Sleeps > 0 })
	for range window {
		if _, err := stream.Recv(contextOf(t)); err != nil {
			t.Fatal(err)
		}
	}
	soon(t, "giving back the window", given)
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
