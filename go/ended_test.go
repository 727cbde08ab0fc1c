package breezeway

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// stoppedServer returns the address of a server that sends its hello and reads nothing.
func stoppedServer(t *testing.T) (address string) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		_ = listener.Close()
	})
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, _, err := receiveHello(conn); err != nil {
			return
		}
		hello := smallHello()
		hello.RingCapacity, hello.StreamMessages, hello.StreamBytes = 64, 1000, 64<<20
		_, _ = conn.Write(hello.Encode())
		<-stop
	}()
	return "unix:" + path
}

func TestAConnectionToAStoppedServerIsClosedAtOnceAndWhoWaitsOnItIsToldSo(t *testing.T) {
	stopped := map[string]func(t *testing.T) string{
		"unix": stoppedServer,
		"shm": func(t *testing.T) string {
			stop := make(chan struct{})
			t.Cleanup(func() { close(stop) })
			return lyingServer(t, func(*liar) { <-stop })
		},
	}
	for carrier, serve := range stopped {
		t.Run(carrier, func(t *testing.T) { closesAtOnce(t, serve(t)) })
	}
}

func closesAtOnce(t *testing.T, address string) {
	dialer := NewNetDialer(address)
	defer dialer.Close()
	conn, err := dialer.Dial(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	session := conn.(*streamConn).stream.session
	wrote, read := make(chan error, 1), make(chan error, 1)
	go func() {
		for {
			if _, err := conn.Write(make([]byte, 64<<10)); err != nil {
				wrote <- err
				return
			}
		}
	}()
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	writes := conn.(*streamConn)
	until(t, session, "the other side's window or its socket is full", func() bool {
		return len(session.roomWaiters) > 0 || len(writes.stream.writers) > 0
	})
	closed := make(chan error, 1)
	go func() { closed <- conn.Close() }()
	if err := soon(t, "Close", closed); err != nil {
		t.Error(err)
	}
	if err := soon(t, "the Read's end", read); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the Read ended with %v", err)
	}
	if err := soon(t, "the Write's end", wrote); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the Write ended with %v", err)
	}
}

func TestAWriteToAConnectionThatTheOtherSideHasClosedIsNoEndOfFile(t *testing.T) {
	listener, err := ListenNet("unix:" + filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Shutdown(contextOf(t))
	dialer := NewNetDialer(listener.Addr().(Address).String())
	defer dialer.Close()
	conn, err := dialer.Dial(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = accepted.Close()
	for err == nil { // The first write leaves before the peer resets the stream.
		_, err = conn.Write([]byte("nobody reads"))
	}
	if !errors.Is(err, syscall.EPIPE) {
		t.Fatalf("the Write ended with %v", err)
	}
}

func TestALastMessageThatFindsNoRoomIsSentOnceThereIsSome(t *testing.T) {
	listener, err := ListenNet("shm:" + filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Shutdown(contextOf(t))
	dialer := NewNetDialer(listener.Addr().(Address).String(), RingCapacity(8))
	defer dialer.Close()
	conn, err := dialer.Dial(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	server := listener.server.all()[0]
	server.mu.Lock() // It takes nothing in between.
	client := conn.(*streamConn).stream.session
	client.mu.Lock()
	for client.transmit(crossedReset, &outgoing{}) == nil {
	}
	client.flush()
	client.mu.Unlock()
	finished := make(chan error, 1)
	go func() { finished <- conn.(*streamConn).CloseWrite() }()
	err = soon(t, "CloseWrite", finished)
	server.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	_ = accepted.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := accepted.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("the other side read %v", err)
	}
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
		func(call *Call) error {
			close(began)
			<-release
			return call.Echo()
		}, Offload(offload), ReplyTimeout(time.Minute))
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
		func(call *Call) error {
			close(began)
			<-release
			return call.Echo()
		}, ReplyTimeout(time.Millisecond))
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

func TestWhoWaitsForAServerIsToldThatTheClientWasClosed(t *testing.T) {
	path := "unix:" + filepath.Join(t.TempDir(), "nobody serves here")
	client, dialer := NewClient(path, WaitForServer(time.Hour)), NewNetDialer(path,
		WaitForServer(time.Hour))
	dials := map[string]struct {
		dial    func(ctx context.Context) error
		sharing *sharing
		close   func() error
	}{
		"a client": {func(ctx context.Context) error {
			_, err := client.Call(ctx, 0, nil)
			return err
		}, &client.sessions, client.Close},
		"a dialer": {func(ctx context.Context) error {
			_, err := dialer.Dial(ctx)
			return err
		}, &dialer.sessions, dialer.Close},
	}
	for name, d := range dials {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			go func() { ended <- d.dial(context.Background()) }()
			eventually(t, "dialling", func() bool {
				d.sharing.mu.Lock()
				defer d.sharing.mu.Unlock()
				return d.sharing.dialing != nil
			})
			_ = d.close()
			if err := soon(t, "the wait's end", ended); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the wait ended with %v", err)
			}
		})
	}
}

func TestTheContextOfAStreamIsDoneOnceTheStreamOrItsSessionIsOver(t *testing.T) {
	streams := make(chan *Stream, 1)
	end := make(chan struct{})
	defer close(end)
	conn := serveStreams(t, "shm", func(stream *Stream) {
		streams <- stream
		select {
		case <-stream.Context().Done():
		case <-end:
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	begin := func() (here, there *Stream) {
		here, err := conn.Open(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		there = soon(t, "the stream", streams)
		if there.Context() != there.Context() {
			t.Error("a stream has two contexts")
		}
		if _, has := there.Context().Deadline(); !has {
			t.Error("the context has no deadline where the other side has said one")
		}
		return here, there
	}
	here, there := begin()
	here.Reset(CodeCancelled)
	soon(t, "the end of the context with its stream", there.Context().Done())
	_, there = begin()
	_ = conn.Close()
	soon(t, "the end of the context with its session", there.Context().Done())
}

func TestAReservationThatIsForgottenIsAbandoned(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), nil)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	s := conn.session
	reserved := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.memory.end.UnderWay()
	}
	before := reserved()
	if _, err := conn.Reserve(contextOf(t), 100_000); err != nil {
		t.Fatal(err)
	}
	if reserved() == before {
		t.Fatal("a reservation takes nothing")
	}
	for end := time.Now().Add(20 * time.Second); reserved() != before; runtime.Gosched() {
		if runtime.GC(); time.Now().After(end) {
			t.Fatal("its memory stays taken")
		}
	}
	_ = conn.Close()
}

func TestAListenerThatCannotServeAnyMoreSaysWhy(t *testing.T) {
	listener, err := ListenNet("unix:" + filepath.Join(t.TempDir(), "s"))
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

func TestAHelloWhoseDescriptorFindsNoNumberIsAShortageOfThisProcess(t *testing.T) {
	theirs, ours := pair(t)
	file, err := theirs.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := sendHello(theirs, liarHello.Encode(), int(file.Fd())); err != nil {
		t.Fatal(err)
	}
	// The received descriptor has a number; every other number is taken in between.
	withoutDescriptors(t, func() {
		_, fds, err := receiveHello(ours)
		closeAll(fds)
		if !errors.As(err, new(*ShortageError)) {
			t.Errorf("the hello gave %v", err)
		}
		if refusalOf(err) != proto.RefusedNoMemory {
			t.Errorf("the client is told %d", refusalOf(err))
		}
	})
}

func withoutDescriptors(t *testing.T, do func()) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}()
	do()
}

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

func TestAPostLeavesTheDoorbellToWhoSleepsForIt(t *testing.T) {
	server := &Server{Handler: func(call *Call) error { return call.Echo() }}
	conn := standingBy(t, server)
	s := conn.session
	s.mu.Lock()
	// The socket is read at the next number, if no goroutine drives.
	for s.rules.TakeNumber()%postsPerLook != postsPerLook-1 {
		continue
	}
	_, err := sessionOf(t, server).openStream(contextOf(t), 0, &outgoing{empty: true}, false)
	if err == nil {
		err = s.postOne(0, nil, limit{})
	}
	s.flush()
	rung := 0
	_ = s.raw.Control(func(fd uintptr) {
		rung, _, _ = unix.Recvfrom(int(fd), make([]byte, 8), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	s.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if rung <= 0 {
		t.Error("the post has read what was to wake who sleeps")
	}
	until(t, s, "the stream's arrival", func() bool { return s.rules.Streams.OpenedByPeer() > 0 })
}

func TestAServerIsClosedAsASessionBegins(t *testing.T) {
	for range 50 { // Only the race detector finds faults here.
		began := make(chan struct{}, 1)
		server, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), nil, Offload(1),
			OnSessionStart(func(Peer) { began <- struct{}{} }))
		dialled := make(chan *Conn, 1)
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

func TestAnnouncementsThatBringDoorbellsDoNotFillTheSocket(t *testing.T) {
	server := &Server{Handler: func(call *Call) error { return call.Echo() }}
	conn := standingBy(t, server)
	s, peer := conn.session, sessionOf(t, server)
	announce := map[string]func() error{
		"leaving to who stands by": func() error { s.leaveToStanding(); return s.err },
		"waiting for memory": func() error {
			s.memoryWaits++
			defer func() { s.memoryWaits-- }()
			return s.armRoom()
		},
	}
	for what, announce := range announce {
		s.mu.Lock()
		for range 500 {
			if err := announce(); err != nil {
				s.mu.Unlock()
				t.Fatal(err)
			}
			// This is what the peer sends for an announcement.
			_ = peer.raw.Control(func(fd uintptr) {
				_, _ = unix.SendmsgN(int(fd), []byte{0}, nil, nil, unix.MSG_DONTWAIT)
			})
		}
		unread := 0
		_ = s.raw.Control(func(fd uintptr) {
			unread, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		})
		s.mu.Unlock()
		if unread > 64 {
			t.Errorf("%s: %d bytes are left in the socket", what, unread)
		}
	}
}

func TestAClientLeavesASessionAlthoughNobodyAcceptsAStreamOfTheServer(t *testing.T) {
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(call *Call) error { return call.Echo() })
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
