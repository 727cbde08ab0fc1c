package breezeway

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// An expiry is a deadline that can be moved during a wait, for one direction of a net.Conn.
//
// Protocols move it with every message, and it is seldom reached. Therefore a timer that is due too
// early is left running, and checks the deadline when it fires.
type expiry struct {
	session *session
	waiter  *waiter // waits within it; under the session's lock
	// err is the reason why no wait is allowed any more.
	err atomic.Pointer[error]

	mu       sync.Mutex
	deadline time.Time // zero if there is none
	timer    *time.Timer
	due      time.Time // when the timer fires; zero if it is not set
}

var errExpired, errConnClosed = error(os.ErrDeadlineExceeded), net.ErrClosed

// ended returns the reason why no wait is allowed any more, or nil.
func (e *expiry) ended() error {
	if err := e.err.Load(); err != nil {
		return *err
	}
	return nil
}

// set moves the deadline, also of a wait that has begun.
func (e *expiry) set(deadline time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended() == net.ErrClosed {
		return
	}
	e.deadline = deadline
	if !deadline.IsZero() && time.Until(deadline) <= 0 {
		e.stop(&errExpired)
		return
	}
	if e.err.Load() != nil {
		e.err.Store(nil)
	}
	if deadline.IsZero() || !e.due.IsZero() && !deadline.Before(e.due) {
		return
	}
	e.arm()
}

// arm sets the timer to the deadline.
func (e *expiry) arm() {
	e.due = e.deadline
	if left := time.Until(e.deadline); e.timer == nil {
		e.timer = time.AfterFunc(left, e.fire)
	} else {
		e.timer.Reset(left)
	}
}

func (e *expiry) fire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due = time.Time{}
	switch {
	case e.deadline.IsZero() || e.ended() != nil:
	case time.Until(e.deadline) > 0:
		e.arm()
	default:
		e.stop(&errExpired)
	}
}

// end ends all waits for good.
func (e *expiry) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer != nil {
		e.timer.Stop()
	}
	e.stop(&errConnClosed)
}

// stop ends the current wait and later ones.
func (e *expiry) stop(err *error) {
	e.err.Store(err)
	e.session.mu.Lock()
	defer e.session.mu.Unlock()
	if e.waiter != nil {
		e.waiter.wake()
	}
}
