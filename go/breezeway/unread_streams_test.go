package breezeway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

const fewStreams = 4

// serveStreams serves on a carrier, and returns a connection to it.
func serveStreams(t *testing.T, carrier string, streams StreamHandler,
	opts ...DialOption) *Session {
	server := &Server{log: slog.New(slog.NewTextHandler(io.Discard, nil)), streams: streams,
		handler: func(_ context.Context, call *Call) error { return call.Echo() }}
	address := carrier + ":" + filepath.Join(t.TempDir(), "s")
	if err := server.listen(address, WithMaxStreams(fewStreams)); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	conn, err := Dial(context.Background(), address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// finishAndReset opens a stream, sends on it, ends its direction, and resets it.
func finishAndReset(ctx context.Context, s *session, messages int) error {
	out := outgoing{empty: true}
	stream, err := s.openStream(ctx, 1, &out, false)
	if err != nil {
		return err
	}
	for range messages {
		if err := stream.Send(ctx, make([]byte, 10_000)); err != nil {
			return err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	stream.Reset(CodeCancelled)
	return nil
}

func call(ctx context.Context, conn *Session) error {
	reply, err := conn.Call(ctx, 0, []byte("call"))
	if err == nil {
		reply.Release()
	}
	return err
}

func briefly(t *testing.T, timeout time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	t.Cleanup(cancel)
	return ctx
}

func TestUnreadStreamsCountAlthoughFinishedAndReset(t *testing.T) {
	for _, carrier := range []string{"shm", "unix"} {
		for name, part := range map[string]func(context.Context, *Stream){
			"read": func(_ context.Context, stream *Stream) {
				for {
					m, err := stream.Recv(context.Background())
					if err != nil {
						// The test may end before it.
						if !errors.Is(err, io.EOF) && !inOrder(err) {
							t.Error(err)
						}
						return
					}
					m.Release()
				}
			},
			"reset":   func(_ context.Context, stream *Stream) { stream.Reset(CodeOverloaded) },
			"dropped": func(context.Context, *Stream) {},
		} {
			t.Run(carrier+"/"+name, func(t *testing.T) {
				goOn := make(chan struct{})
				conn := serveStreams(t, carrier, func(_ context.Context, stream *Stream) {
					<-goOn
					part(context.Background(), stream)
				})
				ctx := briefly(t, 20*time.Second)
				for range fewStreams {
					if err := finishAndReset(ctx, conn.session, 3); err != nil {
						t.Fatal(err)
					}
					if err := call(ctx, conn); err != nil {
						t.Fatal(err)
					}
				}
				soon := briefly(t, 50*time.Millisecond)
				if err := finishAndReset(soon, conn.session, 3); err == nil {
					t.Error("one more was opened while none was read")
				}
				close(goOn)
				for range 3 * fewStreams {
					if err := finishAndReset(ctx, conn.session, 3); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

func TestAClientThatOpensMoreStreamsThanAreReadIsEnded(t *testing.T) {
	for _, carrier := range []string{"shm", "unix"} {
		t.Run(carrier, func(t *testing.T) {
			var count atomic.Int64
			goOn := make(chan struct{})
			defer close(goOn)
			conn := serveStreams(t, carrier, func(context.Context, *Stream) {
				count.Add(1)
				<-goOn
			})
			conn.session.peerHello.MaxStreams = 1000 // It exceeds the limit.
			ctx := briefly(t, 20*time.Second)
			var err error
			for tries := 0; err == nil && tries < 10*fewStreams; tries++ {
				if err = finishAndReset(ctx, conn.session, 3); err == nil {
					err = call(ctx, conn)
				}
			}
			if err == nil || ctx.Err() != nil {
				t.Errorf("the session goes on: %v", err)
			}
			if n := count.Load(); n > fewStreams {
				t.Errorf("%d streams are held", n)
			}
		})
	}
}

func TestAClientThatAcceptsNoStreamKeepsABoundedNumber(t *testing.T) {
	for _, carrier := range []string{"shm", "unix"} {
		for messages, most := range map[int]int{0: 10 * fewStreams, 3: fewStreams} {
			t.Run(carrier, func(t *testing.T) {
				opened := make(chan int, 1)
				conn := serveStreams(t, carrier, func(_ context.Context, stream *Stream) {
					count := 0
					for count < 10*fewStreams {
						ctx := briefly(t, 20*time.Second)
						if count == most {
							ctx = briefly(t, 50*time.Millisecond)
						}
						if err := finishAndReset(ctx, stream.session, messages); err != nil {
							break
						}
						count++
					}
					opened <- count
				}, WithMaxStreams(fewStreams))
				stream, err := conn.Open(context.Background(), 0)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = stream.Recv(briefly(t, 20*time.Second)) // It drives the session.
				if count := <-opened; count != most {
					t.Errorf("%d streams were opened, not %d", count, most)
				}
				s := conn.session
				s.mu.Lock()
				defer s.mu.Unlock()
				kept := len(s.arrivals) - s.arrivalFirst
				if kept > fewStreams || s.rules.DropsStream() {
					t.Errorf("%d streams are kept; the rules count too many: %v", kept,
						s.rules.DropsStream())
				}
			})
		}
	}
}

func TestTheLastMessageOfAStreamThatDiscardsIsDropped(t *testing.T) {
	for _, carrier := range []string{"shm", "unix"} {
		t.Run(carrier, func(t *testing.T) {
			discarding := make(chan *Stream, 1)
			conn := serveStreams(t, carrier, func(_ context.Context, stream *Stream) {
				if err := stream.CloseSend(); err != nil {
					t.Error(err)
				}
				stream.discard()
				discarding <- stream
			})
			ctx := briefly(t, 20*time.Second)
			stream, err := conn.Open(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			served := <-discarding
			last := &outgoing{bytes: make([]byte, 10_000)}
			if err := stream.sendWithin(limitOf(ctx), last, true); err != nil {
				t.Fatal(err)
			}
			if err := call(ctx, conn); err != nil {
				t.Fatal(err)
			}
			served.session.mu.Lock()
			defer served.session.mu.Unlock()
			if n := served.queue.len(); n > 0 {
				t.Errorf("%d messages are kept", n)
			}
		})
	}
}

// resetAtOnce opens a stream, sends nothing on it, and resets it.
func resetAtOnce(ctx context.Context, s *session) error {
	stream, err := s.openStream(ctx, 1, &outgoing{empty: true}, false)
	if err != nil {
		return err
	}
	stream.Reset(CodeCancelled)
	return stream.Close()
}

func TestHandlersOfStreamsThatAreResetAtOnceAreBounded(t *testing.T) {
	for _, carrier := range []string{"shm", "unix"} {
		t.Run(carrier, func(t *testing.T) {
			var running, most atomic.Int64
			goOn := make(chan struct{})
			conn := serveStreams(t, carrier, func(context.Context, *Stream) {
				now := running.Add(1)
				for {
					before := most.Load()
					if now <= before || most.CompareAndSwap(before, now) {
						break
					}
				}
				<-goOn
				running.Add(-1)
			})
			ctx := briefly(t, 20*time.Second)
			for range 25 * fewStreams {
				if err := resetAtOnce(ctx, conn.session); err != nil {
					t.Fatal(err)
				}
				if err := call(ctx, conn); err != nil {
					t.Fatal(err)
				}
			}
			stream, err := conn.session.openStream(ctx, 1, &outgoing{empty: true}, false)
			if err != nil {
				t.Fatal(err)
			}
			var reset *ResetError
			if _, err := stream.Recv(ctx); !errors.As(err, &reset) || reset.Code != CodeOverloaded {
				t.Errorf("one more: %v", err)
			}
			close(goOn)
			// Their places are free once they have ended.
			for reset.Code == CodeOverloaded {
				reset.Code = 0
				stream, err := conn.session.openStream(ctx, 1, &outgoing{empty: true}, false)
				if err != nil {
					t.Fatal(err)
				}
				_, err = stream.Recv(ctx)
				if errors.As(err, &reset); ctx.Err() != nil {
					t.Fatal(err)
				}
				_ = stream.Close()
			}
			if most.Load() > 2*fewStreams {
				t.Errorf("%d handlers ran", most.Load())
			}
		})
	}
}
