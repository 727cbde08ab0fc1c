package breezeway

import (
	"runtime"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

const (
	// yieldFrom is with how many calls in flight a caller lets other goroutines run before it
	// sleeps, and mostYields how often.
	yieldFrom  = 16
	mostYields = 4
	// yieldRound is after how many such calls it is judged whether that pays; one of yieldSample is
	// timed.
	yieldRound  = 256
	yieldSample = 16
)

// yielding judges whether callers of a session on which many wait are to let other goroutines run
// before they sleep. Where the replies come meanwhile, nobody sleeps and nobody is woken. Where
// they do not, or others run for so long that a sleeper, who goes ahead of them when it is woken,
// would have had its reply earlier, it is time lost.
type yielding struct {
	// missed are those calls whose reply had not come after all yields.
	calls, missed int
	// backOff counts rounds.
	backOff backOff
}

// pays counts a call, and says whether its caller is to do so, and is timed.
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

// stop leaves it alone for a while. What many see at one time counts once.
func (y *yielding) stop() {
	if !y.backOff.isOn() {
		y.backOff.failed()
	}
}

// letYield has who calls let other goroutines run first, where that pays.
func (s *session) letYield(w *waiter) {
	// The session may have ended while it waited for its turn.
	if s.err != nil || s.memory == nil || s.rules.Calls.InFlight() < yieldFrom ||
		s.opts.wait == Park || !s.rules.AwaitsPeer() {
		return
	}
	does, timed := s.yielding.pays()
	if does {
		w.yields, w.timed = mostYields, timed
	}
}

// transmitUnfenced publishes a request for which somebody flushes: its caller, unless it is
// answered before. False if it has to be sent otherwise.
func (s *session) transmitUnfenced(head proto.Head, out *outgoing) bool {
	if !out.isPlain() || out.reserved != nil || len(out.bytes) > proto.InlineMax ||
		s.memory.end.PublishUnfenced(&head, out.bytes) != nil {
		return false
	}
	out.sent = true
	s.sent.count(head.Kind, head.Flags, len(out.bytes))
	return true
}

// yield lets other goroutines run and, if the reply has not come then, takes what has, unless
// somebody else drives. True if the reply is there: then the lock is not held.
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
		w.yields = 0 // Given up meanwhile.
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

// yieldTimed lets other goroutines run, and has nobody do so for a while if they take long.
func (s *session) yieldTimed() {
	began := time.Now()
	runtime.Gosched()
	if time.Since(began) > lostCPU {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.yielding.stop()
	}
}
