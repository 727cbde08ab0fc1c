package breezeway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// eventually polls for a condition that other goroutines of this process bring about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what + " does not happen")
		}
	}
}

// until is eventually under the lock of a session.
func until(t *testing.T, s *session, what string, is func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return is()
	})
}

func TestSleeperForPeerIsWokenByOwnSide(t *testing.T) {
	server := &Server{log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		streams: func(_ context.Context, stream *Stream) { _ = stream.CloseSend() }}
	if err := server.listen("unix:"+filepath.Join(t.TempDir(), "s"),
		WithMaxStreams(1)); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		_ = server.Close()
		soon(t, "the server's end", served)
	})
	conn, err := Dial(contextOf(t), server.Addresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	first, err := conn.Open(contextOf(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := conn.Open(context.Background(), 0)
		opened <- err
	}()
	s := conn.session
	until(t, s, "the sleep of who opens a stream too many", func() bool {
		return first.state.RecvState() == proto.RecvEnd && len(s.openers) == 1 &&
			s.openers[0].parkedOn == s
	})
	// Afterwards the number is free, and the peer sends nothing for it.
	if err := first.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := soon(t, "opening a stream once there is room", opened); err != nil {
		t.Fatal(err)
	}
}

func TestStreamsThatEndTogetherLetAsManyBegin(t *testing.T) {
	s, options := &session{ledger: new(ledger)}, defaults()
	hello := options.hello(true)
	s.rules = proto.NewSession[*waiter, *Stream](true, hello, hello, false)
	waiting := []*waiter{newWaiter(), newWaiter()}
	s.openers = append(s.openers, waiting...)
	for _, number := range []uint32{1, 3} {
		stream := s.newStream(0)
		stream.state = s.rules.Streams.Open(number, stream)
		s.rules.Streams.NotOpened(stream.state)
		s.streamOver(stream)
	}
	for i, w := range waiting {
		if !w.isWoken() {
			t.Errorf("number %d of those who wait sleeps on", i)
		}
	}
}

func TestCallerWhosePlaceWasTakenIsWokenForTheNext(t *testing.T) {
	s, options := &session{ledger: new(ledger), leading: true}, defaults()
	options.ringCapacity = 8
	hello := options.hello(true)
	s.rules = proto.NewSession[*waiter, *Stream](true, hello, hello, false)
	var running []*callInFlight
	for s.rules.Calls.HasRoom() {
		running = append(running, s.rules.Calls.Begin(s.rules.TakeNumber(), newWaiter()))
	}
	begun := make(chan error, 1)
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		begun <- s.waitToBegin(&outgoing{}, &limit{})
	}()
	until(t, s, "the caller's sleep", func() bool { return s.followers.first() != nil })
	s.mu.Lock()
	s.rules.Calls.End(running[0])
	s.callEnded()
	s.rules.Calls.Begin(s.rules.TakeNumber(), newWaiter()) // Before the woken caller runs.
	s.mu.Unlock()
	until(t, s, "the caller's next sleep", func() bool { return s.followers.first() != nil })
	s.mu.Lock()
	s.rules.Calls.End(running[1])
	s.callEnded()
	s.mu.Unlock()
	if err := soon(t, "the caller's call", begun); err != nil {
		t.Fatal(err)
	}
}

func TestArrivalWaiterIsWokenWithoutStreamReaders(t *testing.T) {
	busy, goOn := make(chan *Stream), make(chan struct{})
	server := &Server{log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		handler: func(_ context.Context, call *Call) error { return call.Echo() },
		streams: func(_ context.Context, stream *Stream) {
			for range 2 * onlyStreams {
				m, err := stream.Recv(context.Background())
				if err != nil || stream.SendMessage(context.Background(), &m) != nil {
					return
				}
			}
			busy <- stream
			<-goOn
		}}
	if err := server.listen("shm:" + filepath.Join(t.TempDir(), "s")); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		_ = server.Close()
		soon(t, "the server's end", served)
	})
	conn, err := Dial(contextOf(t), server.Addresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer close(goOn)
	for range 3 {
		stream, err := conn.Open(contextOf(t), 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 * onlyStreams {
			if err := stream.Send(contextOf(t), []byte("message")); err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Recv(contextOf(t)); err != nil {
				t.Fatal(err)
			}
		}
		s := soon(t, "the handler of a stream that was opened", busy).session
		until(t, s, "standing by", func() bool { return s.standing != nil && !s.leading })
		if _, err := conn.Call(contextOf(t), 0, []byte("call")); err != nil {
			t.Fatal(err)
		}
	}
}

// standingBy returns a session over shm whose last messages were those of a stream, and whose
// client has a waiter for arrivals in the poller.
func standingBy(t *testing.T, server *Server, options ...DialOption) *Session {
	t.Helper()
	server.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	server.streams = func(_ context.Context, stream *Stream) {
		for {
			m, err := stream.Recv(context.Background())
			if err != nil || stream.SendMessage(context.Background(), &m) != nil {
				return
			}
		}
	}
	if err := server.listen("shm:" + filepath.Join(t.TempDir(), "s")); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		_ = server.Close()
		soon(t, "the server's end", served)
	})
	conn, err := Dial(contextOf(t), server.Addresses()[0].String(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	stream, err := conn.Open(contextOf(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * onlyStreams {
		if err := stream.Send(contextOf(t), []byte("message")); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(contextOf(t)); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _, _ = conn.AcceptStream(context.Background()) }()
	s := conn.session
	until(t, s, "standing by", func() bool { return s.standing != nil && !s.leading })
	return conn
}

func TestReplyDuringRestAdaptsPollingAndEndsItAlone(t *testing.T) {
	goOn := make(chan struct{})
	server := &Server{handler: func(_ context.Context, call *Call) error {
		<-goOn
		return call.Echo()
	}}
	resting := standingBy(t, server)
	s, replies := resting.session, make(chan error, 1)
	call := func(conn *Session) {
		_, err := conn.Call(contextOf(t), 0, []byte("call"))
		replies <- err
	}
	for range 20 {
		// A follower of a driver does not rest.
		until(t, s, "standing by", func() bool {
			s.budget = s.opts.spinBound
			return s.standing != nil && !s.leading
		})
		go call(resting)
		until(t, s, "resting", func() bool {
			w := s.followers.first()
			return w != nil && !w.rests.IsZero()
		})
		goOn <- struct{}{}
		if err := soon(t, "the reply to who rests", replies); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		if s.budget == s.opts.spinBound {
			t.Error("a rest is no evidence against polling")
		}
		s.mu.Unlock()
		other, err := Dial(contextOf(t), server.Addresses()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		go call(other)
		goOn <- struct{}{}
		if err := soon(t, "the reply to a call of another session", replies); err != nil {
			t.Fatal(err)
		}
		_ = other.Close()
	}
}

func TestSecondArrivalWaiterEndsWithItsContext(t *testing.T) {
	for name, policy := range map[string]Option{"adaptive": WithWaitPolicy(Adaptive),
		"park": WithWaitPolicy(Park)} {
		t.Run(name, func(t *testing.T) {
			server := &Server{handler: func(_ context.Context,
				call *Call) error {
				return call.Echo()
			}}
			heedsLimits(t, standingBy(t, server, policy))
		})
	}
}

func heedsLimits(t *testing.T, conn *Session) {
	s, ended := conn.session, make(chan error, 1)
	accept := func(ctx context.Context) {
		_, err := conn.AcceptStream(ctx)
		ended <- err
	}
	for range 20 {
		inTime, stop := context.WithTimeout(context.Background(), time.Millisecond)
		go accept(inTime)
		err := soon(t, "the end past a deadline", ended)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		go accept(ctx)
		until(t, s, "the second one's sleep", func() bool { return s.followers.first() != nil })
		if _, err := conn.Call(contextOf(t), 0, []byte("call")); err != nil {
			t.Fatal(err)
		}
		cancel()
		err = soon(t, "the end after a cancellation", ended)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}
