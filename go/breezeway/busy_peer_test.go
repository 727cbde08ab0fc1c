package breezeway

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// floods drives a session whose peer never stops sending entries that no waiter waits for.
func floods(t *testing.T, driven, other *session) {
	began := make(chan struct{})
	over := make(chan error, 1)
	var enough atomic.Bool
	go func() {
		driven.mu.Lock()
		defer driven.mu.Unlock()
		w, turns := driven.newWaiter(), 0
		over <- driven.wait(w, &limit{}, func() bool {
			if !enough.Load() {
				other.mu.Lock()
				other.fill()
				other.mu.Unlock()
			}
			if turns++; turns == 100 {
				close(began)
			}
			return false
		})
		driven.freeWaiter(w)
	}()
	t.Cleanup(func() {
		enough.Store(true)
		driven.close()
		if err := soon(t, "the end of who drives", over); !inOrder(err) {
			t.Errorf("it ended with %v", err)
		}
	})
	soon(t, "the flood", began)
}

func TestAClientThatNeverStopsSendingHoldsUpNothingOfTheServer(t *testing.T) {
	server, conn, serving := greeted(t)
	server.sessions[serving] = struct{}{}
	floods(t, serving, conn.session)
	returns(t, "Statistics", func() { Statistics() })
	returns(t, "Shutdown", func() { _ = server.Shutdown(contextOf(t)) })
}

func TestAServerThatNeverStopsSendingHoldsUpNoCallerAndNoClose(t *testing.T) {
	_, conn, serving := greeted(t)
	floods(t, conn.session, serving)
	returns(t, "a call whose context is done", func() {
		_, err := conn.Call(briefly(t, 10*time.Millisecond), 0, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
	})
	returns(t, "Close", func() { _ = conn.Close() })
}
