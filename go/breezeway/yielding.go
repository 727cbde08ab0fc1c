package breezeway

import (
	"runtime"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

const (
	// yieldFrom is the number of calls in flight from where on a caller lets other goroutines run
	// before it sleeps, and mostYields is how often it does.
	yieldFrom  = 16
	mostYields = 4
	// yieldRound is the number of such calls between two decisions whether yielding pays. One of
	// yieldSample calls is timed.
	yieldRound  = 256
	yieldSample = 16
)

// yielding decides whether the callers of a session with many calls in flight let other goroutines
// run before they sleep. If replies arrive during the yields, no caller sleeps and none is woken.
// Yielding is a loss if replies do not arrive then, or if other goroutines run for so long that a
// sleeper would have had its reply earlier, since a woken goroutine runs ahead of them.
type yielding struct {
	// missed counts the calls whose reply had not arrived after all yields.
	calls, missed int
	// backOff counts rounds.
	backOff backOff
}

// pays counts a call. It returns whether the caller yields, and whether the yield is timed.
func (y *yielding) pays() (does, timed bool) {
	if y.calls++; y.calls > yieldRound {
		switch {
		case y.backOff.skip():
		case y.missed > yieldRound/4:
			y.backOff.failed()
		default:
			y.backOff.paid()
		}
		y.calls, y.missed = 1, 0
	}
	return !y.backOff.isOn(), y.calls%yieldSample == 1
}

// stop suspends yielding for a while. Concurrent calls of stop count once.
func (y *yielding) stop() {
	if !y.backOff.isOn() {
		y.backOff.failed()
	}
}

// letYield lets a caller yield first, if that pays.
func (s *session) letYield(w *waiter) {
	// The session may have ended while the caller waited for its turn.
	if s.err != nil || s.memory == nil || s.rules.Calls.InFlight() < yieldFrom ||
		s.opts.wait == Park || !s.rules.AwaitsPeer() {
		return
	}
	does, timed := s.yielding.pays()
	if does {
		w.yields, w.timed = mostYields, timed
	}
}

// transmitUnfenced publishes a request without waking the peer. The caller flushes, unless the
// reply arrives first. It returns false if the request must be sent by other means.
func (s *session) transmitUnfenced(head proto.Head, out *outgoing) bool {
	if !out.isPlain() || out.reserved != nil || len(out.bytes) > proto.InlineMax ||
		s.memory.end.PublishUnfenced(&head, out.bytes) != nil {
		return false
	}
	out.sent = true
	s.record.sent.count(head.Kind, head.Flags, len(out.bytes))
	return true
}

// yield lets other goroutines run. If the reply has not arrived then, it takes arrived entries,
// unless another goroutine drives. It returns true, without the lock, if the reply has arrived.
func (s *session) yield(w *waiter) bool {
	w.yielding = true
	s.mu.Unlock()
	if w.timed {
		s.yieldTimed()
	} else {
		runtime.Gosched()
	}
	if w.given.Load() {
		return true
	}
	s.mu.Lock()
	if w.given.Load() {
		s.mu.Unlock()
		return true
	}
	w.yielding = false
	w.yields--
	if s.yielding.backOff.isOn() {
		w.yields = 0 // Yielding was suspended in between.
	}
	if w.yields == 0 {
		s.yielding.missed++
	}
	if s.err == nil {
		s.flush()
	}
	s.takeTurns(1, false)
	return false
}

// yieldTimed lets other goroutines run, and suspends yielding if they take long.
func (s *session) yieldTimed() {
	began := time.Now()
	runtime.Gosched()
	if time.Since(began) > lostCPU {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.yielding.stop()
	}
}
