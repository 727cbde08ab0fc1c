package breezeway

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// An expiry is a deadline that may be moved while somebody waits for it: one side of a net.Conn.
//
// Protocols move it with every message, and it is seldom reached: so a timer that is due too early
// is left alone, and looks again when it fires.
type expiry struct {
	session *session
	waiter  *waiter // who waits within it; under the session's lock
	// err is why nobody may wait any more.
	err atomic.Pointer[error]

	mu       sync.Mutex
	deadline time.Time // zero if there is none
	timer    *time.Timer
	due      time.Time // of the timer; zero if it is not set
}

var errExpired, errConnClosed = error(os.ErrDeadlineExceeded), net.ErrClosed

// ended says why nobody may wait any more; nil if they may.
func (e *expiry) ended() error {
	if err := e.err.Load(); err != nil {
		return *err
	}
	return nil
}

// set moves the deadline. Who waits already learns of it.
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

// arm has the timer fire at the deadline.
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

// end ends it for good.
func (e *expiry) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer != nil {
		e.timer.Stop()
	}
	e.stop(&errConnClosed)
}

// stop ends the wait that is under way, and those that begin from now on.
func (e *expiry) stop(err *error) {
	e.err.Store(err)
	e.session.mu.Lock()
	defer e.session.mu.Unlock()
	if e.waiter != nil {
		e.waiter.wake()
	}
}
