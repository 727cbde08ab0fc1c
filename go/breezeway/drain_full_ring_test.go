package breezeway

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

// TestRequestsBeforeClientEndAreServedWithFullRing has a client that takes no
// replies.
func TestRequestsBeforeClientEndAreServedWithFullRing(t *testing.T) {
	const size = 1 << 20
	for _, offload := range []int{0, 1} {
		posted := make(chan struct{}, 1)
		server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
			func(_ context.Context, call *Call) error {
				if call.IsOneWay() {
					posted <- struct{}{}
					return nil
				}
				return call.Reply(make([]byte, size))
			}, WithCap(size), WithOffload(offload))
		conn, err := Dial(contextOf(t), address)
		if err != nil {
			t.Fatal(err)
		}
		session := sessionOf(t, server)
		session.mu.Lock() // It takes all of it in one turn.
		ended := make(chan error, 2)
		for range cap(ended) {
			go func() {
				_, err := conn.Call(contextOf(t), 0, nil)
				ended <- err
			}()
		}
		until(t, conn.session, "both calls are in flight", func() bool {
			return conn.session.rules.Calls.InFlight() == cap(ended)
		})
		if err := conn.Post(contextOf(t), 0, []byte("and this")); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		session.mu.Unlock()
		for range cap(ended) {
			if err := soon(t, "the end of a call", ended); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		soon(t, "the post", posted)
	}
}

func TestPostsBeforeFailedMessageAreServed(t *testing.T) {
	for _, carrier := range []string{"shm", "unix"} {
		t.Run(carrier, func(t *testing.T) {
			served := make(chan struct{}, 1)
			server, address := quietServer(t, carrier+":"+filepath.Join(t.TempDir(), "s"),
				func(context.Context, *Call) error {
					served <- struct{}{}
					return nil
				}, WithWaitPolicy(Park))
			conn, err := Dial(contextOf(t), address, WithCap(4096))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			session := sessionOf(t, server)
			until(t, session, "the server is asleep",
				func() bool { return session.link.counters().Sleeps > 0 })
			err = conn.PostAll(contextOf(t), 0, [][]byte{{1}, make([]byte, 8192)})
			if !errors.As(err, new(*TooLargeError)) {
				t.Error(err)
			}
			soon(t, "the first message", served)
		})
	}
}
