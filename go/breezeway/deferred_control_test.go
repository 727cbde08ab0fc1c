package breezeway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// fill fills the ring. The session's lock is held.
func (s *session) fill() {
	for s.transmit(crossedReset, &outgoing{}) == nil {
	}
	s.flush()
}

func TestAGoAwayThatFindsNoRoomIsSaidOnceThereIsSome(t *testing.T) {
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), echoCall)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	session := sessionOf(t, server)
	conn.session.mu.Lock() // It takes nothing in between.
	session.mu.Lock()
	session.fill()
	session.mu.Unlock()
	session.goAway()
	conn.session.mu.Unlock()
	for end := time.Now().Add(10 * time.Second); !errors.Is(err, ErrGoingAway); {
		_, err = conn.Call(contextOf(t), 0, nil)
		if err != nil && !errors.Is(err, ErrGoingAway) || time.Now().After(end) {
			t.Fatalf("a call to a server that goes away: %v", err)
		}
	}
}

// The client's session has no waiters.
func TestAResetThatFindsNoRoomIsSentOnceThereIsSome(t *testing.T) {
	for name, end := range map[string]func(context.Context, *Stream){
		"reset": func(_ context.Context, stream *Stream) { stream.Reset(CodeOverloaded) },
		"close": func(_ context.Context, stream *Stream) { _ = stream.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			come, received := make(chan *Stream, 1), make(chan error, 1)
			conn := serveStreams(t, "shm", func(_ context.Context, stream *Stream) {
				come <- stream
				_, err := stream.Recv(contextOf(t))
				received <- err
			})
			stream, err := conn.Open(contextOf(t), 0)
			if err != nil {
				t.Fatal(err)
			}
			serving := soon(t, "the stream", come).session
			serving.mu.Lock() // It takes nothing in between.
			conn.session.mu.Lock()
			conn.session.fill()
			conn.session.mu.Unlock()
			end(context.Background(), stream)
			serving.mu.Unlock()
			if err := soon(t, "the reset", received); !errors.As(err, new(*ResetError)) {
				t.Errorf("the peer received %v", err)
			}
		})
	}
}

// The client's session has no waiters here either.
func TestAnAnswerToAResetThatFindsNoRoomIsSentOnceThereIsSome(t *testing.T) {
	come := make(chan *Stream, 1)
	conn := serveStreams(t, "shm", func(_ context.Context, stream *Stream) {
		come <- stream
		<-stream.session.done
	})
	if _, err := conn.Open(contextOf(t), 0); err != nil {
		t.Fatal(err)
	}
	stream := soon(t, "the stream", come)
	serving := stream.session
	serving.mu.Lock() // It takes nothing in between.
	serving.rules.Streams.Reset(stream.state, 0)
	if _, err := serving.sendOwed(); err != nil {
		t.Error(err)
	}
	conn.session.mu.Lock()
	conn.session.fill()
	conn.session.mu.Unlock()
	conn.session.catchUp()
	serving.mu.Unlock()
	until(t, serving, "the stream's end", func() bool { return serving.openStreams == 0 })
}

// A TCP socket that has accepted everything reports no further room.
func TestPendingEntryBehindTCPBacklogIsSentAlone(t *testing.T) {
	received := make(chan error, 1)
	server := &Server{log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		streams: func(_ context.Context, stream *Stream) {
			if stream.Method() == 2 {
				_, err := stream.Recv(contextOf(t))
				received <- err
			}
			<-stream.session.done
		}}
	if err := server.listen("tcp:127.0.0.1:0", WithStreamWindow(1<<20, 1<<40)); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	defer func() {
		_ = server.Close()
		soon(t, "the server's end", served)
	}()
	conn, err := Dial(contextOf(t), server.Addresses()[0].String(), WithHandshakeTimeout(1e10))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	first, err := conn.Open(contextOf(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	second, err := conn.Open(contextOf(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	client, serving := conn.session, sessionOf(t, server)
	_ = client.raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<20)
	})
	if err != nil {
		t.Fatal(err)
	}
	serving.mu.Lock() // The server reads nothing in between.
	client.mu.Lock()
	for err == nil {
		err = client.transmit(proto.Head{Kind: proto.KindMessage, Stream: first.state.Number()},
			&outgoing{bytes: make([]byte, 64<<10)})
		client.flush()
	}
	client.mu.Unlock()
	if !errors.Is(err, shm.ErrFull) {
		t.Error(err)
	}
	second.Reset(CodeOverloaded)
	serving.mu.Unlock()
	if err := soon(t, "the reset", received); !errors.As(err, new(*ResetError)) {
		t.Errorf("the peer received %v", err)
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
		l.await("the sleep", func() bool {
			return l.control.Load(proto.SpaceWakeAt) != proto.Idle
		})
		l.own.Store(proto.ConsumedAt, ring)
		l.ring()
		l.await("the window's entry", func() bool {
			return l.control.Load(proto.RingAt) == ring+1
		})
		close(given)
		l.close()
	})
	conn, err := Dial(context.Background(), address, WithRingCapacity(ring),
		WithStreamWindow(window, 1<<20),
		WithWaitPolicy(Park))
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

func TestALastMessageThatFindsNoRoomIsSentOnceThereIsSome(t *testing.T) {
	listener, err := ListenNet("shm:"+filepath.Join(t.TempDir(), "s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Shutdown(contextOf(t))
	dialer := NewNetDialer(listener.Addr().(Address).String(), WithRingCapacity(8))
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
		t.Fatalf("the peer read %v", err)
	}
}
