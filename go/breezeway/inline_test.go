package breezeway

import (
	"bytes"
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// goroutine returns the first line of the caller's stack, which has the goroutine's number.
func goroutine() string {
	stack := make([]byte, 64)
	head, _, _ := bytes.Cut(stack[:runtime.Stack(stack, false)], []byte("["))
	return string(head)
}

func onBothLinks(t *testing.T, test func(t *testing.T, address string)) {
	for _, carrier := range []string{"shm", "unix"} {
		t.Run(carrier, func(t *testing.T) {
			test(t, carrier+":"+filepath.Join(t.TempDir(), "s"))
		})
	}
}

func dialled(t *testing.T, address string, opts ...DialOption) *Session {
	conn, err := Dial(contextOf(t), address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestOffloadedQuickHandlersShareGoroutine(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		const calls, shared = 100_000, 100
		var mu sync.Mutex
		ran, most := map[string]int{}, 0
		_, address = quietServer(t, address, func(_ context.Context, call *Call) error {
			mu.Lock()
			defer mu.Unlock()
			number := goroutine()
			ran[number]++
			most = max(most, ran[number])
			return call.Reply(nil)
		}, WithOffload(4))
		conn, ctx := dialled(t, address), contextOf(t)
		for call := range calls {
			if _, err := conn.Call(ctx, 0, nil); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			isOver := most == shared
			mu.Unlock()
			if isOver {
				return
			}
			if call == calls-1 {
				t.Errorf("%d handlers have run, and at most %d in one goroutine", calls, most)
			}
		}
	})
}

func TestOffloadedBlockedHandlersHoldNoOtherCall(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		const quick, slow, blocked = 0, 1, 16
		began, over := make(chan struct{}, blocked), make(chan struct{})
		_, address = quietServer(t, address, func(_ context.Context, call *Call) error {
			if call.Method() == slow {
				began <- struct{}{}
				<-over
			}
			return call.Reply(nil)
		}, WithOffload(blocked+1))
		end := sync.OnceFunc(func() { close(over) })
		t.Cleanup(end)
		conn := dialled(t, address)
		ended := make(chan error, blocked)
		for range blocked {
			go func() {
				_, err := conn.Call(context.Background(), slow, nil)
				ended <- err
			}()
			soon(t, "a handler", began)
			if _, err := conn.Call(contextOf(t), quick, nil); err != nil {
				t.Fatal(err)
			}
		}
		end()
		for range blocked {
			if err := soon(t, "the end of a call", ended); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestOffloadedHandlerThatExitsHoldsNoOtherCall(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		_, address = quietServer(t, address, func(_ context.Context, call *Call) error {
			if call.Method() == 1 {
				runtime.Goexit()
			}
			return call.Reply(nil)
		}, WithOffload(4))
		conn := dialled(t, address)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_, _ = conn.Call(ctx, 1, nil)
		if _, err := conn.Call(contextOf(t), 0, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestOffloadedBlockedHandlerLearnsOfClientsEnd(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		began, ended := make(chan struct{}), make(chan struct{})
		_, address = quietServer(t, address, func(ctx context.Context, call *Call) error {
			close(began)
			<-ctx.Done()
			close(ended)
			return nil
		}, WithOffload(4))
		conn := dialled(t, address)
		go func() { _, _ = conn.Call(context.Background(), 0, nil) }()
		soon(t, "the handler", began)
		_ = conn.Close()
		soon(t, "the end of the handler's context", ended)
	})
}

func TestOffloadedPostsOfClientAreBounded(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		const posts = proto.MostPosts + 64
		var running, most, ran atomic.Int64
		over, done := make(chan struct{}), make(chan struct{})
		server, address := quietServer(t, address, func(_ context.Context, call *Call) error {
			if !call.IsOneWay() {
				return call.Reply(nil)
			}
			for now := running.Add(1); ; {
				before := most.Load()
				if now <= before || most.CompareAndSwap(before, now) {
					break
				}
			}
			<-over
			running.Add(-1)
			if ran.Add(1) == posts {
				close(done)
			}
			return nil
		}, WithOffload(2*posts))
		end := sync.OnceFunc(func() { close(over) })
		t.Cleanup(end)
		conn := dialled(t, address)
		posted := make(chan error, 1)
		go func() {
			var err error
			for post := 0; post < posts && err == nil; post++ {
				err = conn.Post(context.Background(), 1, nil)
			}
			posted <- err
		}()
		s := sessionOf(t, server)
		until(t, s, "a wait for a handler", func() bool { return len(s.postWaiters) > 0 })
		end()
		soon(t, "the last handler", done)
		if err := soon(t, "the last post", posted); err != nil {
			t.Error(err)
		}
		if most.Load() > proto.MostPosts {
			t.Errorf("%d handlers of one-way messages have run at one time, above %d", most.Load(),
				proto.MostPosts)
		}
		if _, err := conn.Call(contextOf(t), 0, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestOffloadedPostsOfClientAreBoundedInBytes(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		const posts, length = 16, 16 << 10
		const most = 4
		var running atomic.Int64
		release := make(chan struct{})
		server, address := quietServer(t, address, func(_ context.Context, call *Call) error {
			call.Request().Release()
			running.Add(1)
			<-release
			return nil
		}, WithOffload(2*posts), WithCap(most*length))
		conn := dialled(t, address, WithCap(most*length))
		posted := make(chan error, 1)
		go func() {
			var err error
			for post := 0; post < posts && err == nil; post++ {
				err = conn.Post(context.Background(), 1, make([]byte, length))
			}
			posted <- err
		}()
		s := sessionOf(t, server)
		until(t, s, "a wait for a handler", func() bool { return len(s.postWaiters) > 0 })
		eventually(t, "the handlers before", func() bool { return running.Load() == most })
		close(release)
		eventually(t, "all handlers", func() bool { return running.Load() == posts })
		if err := soon(t, "the last post", posted); err != nil {
			t.Error(err)
		}
	})
}

func TestOffloadedPostsBelowLimitsHoldNoCall(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		const posts = 200 // More than the calls that may be in flight.
		var running atomic.Int64
		release := make(chan struct{})
		_, address = quietServer(t, address, func(_ context.Context, call *Call) error {
			if call.IsOneWay() {
				running.Add(1)
				<-release
			}
			return call.Reply(nil)
		}, WithOffload(2*posts))
		defer close(release)
		conn := dialled(t, address)
		for range posts {
			if err := conn.Post(contextOf(t), 1, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := conn.Call(briefly(t, 5*time.Second), 0, nil); err != nil {
			t.Error(err)
		}
		eventually(t, "all handlers", func() bool { return running.Load() == posts })
	})
}

func TestPaceOfQuickHandlersStaysInline(t *testing.T) {
	var p pace
	for range 10_000 {
		for range 7 {
			p.record(quickHandler / 10)
		}
		p.record(time.Second) // Its CPU was taken.
		if p.isSlow() {
			t.Fatal("one handler in eight that is interrupted makes a method slow")
		}
	}
}

func TestPaceOfSlowHandlersIsTriedRarely(t *testing.T) {
	var p pace
	const calls = 100_000
	inline := 0
	for range calls {
		if !p.isSlow() {
			inline++
			p.record(2 * quickHandler)
		}
	}
	if inline > calls/64 {
		t.Errorf("%d of %d slow handlers run inline", inline, calls)
	}
}

func TestPaceOfBlockingHandlersIsTriedRarely(t *testing.T) {
	var p pace
	const calls = 100_000
	inline, blocked := 0, 0
	for call := range calls {
		if p.isSlow() {
			continue
		}
		inline++
		if call%50 == 0 { // Others do not block.
			p.slow()
			blocked++
		} else {
			p.record(quickHandler / 10)
		}
	}
	if blocked > calls/500 {
		t.Errorf("%d of %d handlers run inline, and %d of them block", inline, calls, blocked)
	}
}

func TestPaceReturnsInlineAfterSlowHandlers(t *testing.T) {
	var p pace
	for range 100 {
		p.slow()
	}
	calls := 0
	for ; p.isSlow(); calls++ {
		if calls > mostElsewhere {
			t.Fatal("a quick method is never run inline again")
		}
	}
}
