package breezeway

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// withEnds serves a method that waits for its context's end without Offload, and returns the ends.
func withEnds(t *testing.T, address string) (session *Session, begun chan struct{},
	ended chan error) {
	begun, ended = make(chan struct{}, 2), make(chan error, 2)
	_, address = quietServer(t, address, func(ctx context.Context, call *Call) error {
		if call.Method() == 1 {
			begun <- struct{}{}
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return ctx.Err()
		}
		return call.Echo()
	})
	return dialled(t, address), begun, ended
}

func TestInlineHandlerContextEndsWithCancellation(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		session, begun, ended := withEnds(t, address)
		for range 3 {
			ctx, cancel := context.WithCancel(contextOf(t))
			failed := make(chan error, 1)
			go func() {
				_, err := session.Call(ctx, 1, nil)
				failed <- err
			}()
			soon(t, "the handler", begun)
			cancel()
			if err := soon(t, "the context's end", ended); !errors.Is(err, context.Canceled) {
				t.Errorf("the context ended for %v", err)
			}
			if err := soon(t, "the call's end", failed); !errors.Is(err, context.Canceled) {
				t.Errorf("the call gives %v", err)
			}
			if _, err := session.Call(contextOf(t), 0, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestInlineHandlerContextEndsWithDeadline(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		session, _, ended := withEnds(t, address)
		ctx, cancel := context.WithTimeout(contextOf(t), 20*time.Millisecond)
		defer cancel()
		if _, err := session.Call(ctx, 1, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call gives %v", err)
		}
		err := soon(t, "the context's end", ended)
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			t.Errorf("the context ended for %v", err)
		}
	})
}

func TestInlineHandlerContextEndsWithSession(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		session, begun, ended := withEnds(t, address)
		go session.Call(context.Background(), 1, nil)
		soon(t, "the handler", begun)
		session.session.conn.Close() // A client that dies sends no farewell.
		if err := soon(t, "the context's end", ended); !errors.Is(err, ErrPeerDied) {
			t.Errorf("the context ended for %v", err)
		}
	})
}

// TestCallCancelledInQueueHasEndedContext cancels a call behind another one, which reads ahead.
func TestCallCancelledInQueueHasEndedContext(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		session, begun, ended := withEnds(t, address)
		first, endFirst := context.WithCancel(contextOf(t))
		second, endSecond := context.WithCancel(contextOf(t))
		go session.Call(first, 1, nil)
		soon(t, "the first handler", begun)
		over := make(chan error, 1)
		go func() {
			_, err := session.Call(second, 1, nil)
			over <- err
		}()
		until(t, session.session, "the second call", func() bool {
			return session.session.rules.Calls.InFlight() == 2
		})
		endSecond()
		soon(t, "the end of the second call", over)
		endFirst()
		for range 2 {
			if err := soon(t, "a context's end", ended); !errors.Is(err, context.Canceled) {
				t.Errorf("a context ended for %v", err)
			}
		}
	})
}

func TestContextEndsWithHandlerAndIsNotThatOfAnotherCall(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		var mu sync.Mutex
		var kept []context.Context
		_, address = quietServer(t, address, func(ctx context.Context, call *Call) error {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, ctx)
			if deadline, has := ctx.Deadline(); call.Method() == 1 && (!has || deadline.IsZero()) {
				t.Error("the call has no deadline")
			}
			return call.Echo()
		})
		session := dialled(t, address)
		const calls = 3 * contextsAtOnce
		for method := range uint32(calls) {
			if _, err := session.Call(contextOf(t), method%2, nil); err != nil {
				t.Fatal(err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		// The last handler may not have returned when its caller has the reply.
		for i, ctx := range kept[:calls-1] {
			if !errors.Is(ctx.Err(), context.Canceled) || context.Cause(ctx) != errCallOver {
				t.Errorf("context %d of a handler that has returned: %v", i, context.Cause(ctx))
			}
			soon(t, "the end of a context", ctx.Done())
		}
	})
}
