package breezeway

import (
	"runtime"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/abi"
)

const (
	// passFrom is with how many calls in flight a caller lets other goroutines run before it
	// sleeps, and mostPasses how often.
	passFrom   = 16
	mostPasses = 4
	// passRound is after how many such calls it is judged whether that pays; one of passSample is
	// timed.
	passRound  = 256
	passSample = 16
)

// passing judges whether callers of a session on which many wait are to let other goroutines run
// before they sleep. Where the replies come meanwhile, nobody sleeps and nobody is woken. Where
// they do not, or others run for so long that a sleeper, who goes ahead of them when it is woken,
// would have had its reply earlier, it is time lost.
type passing struct {
	calls, inVain int
	// vain grows each time that it is given up, and patience counts the rounds from there to the
	// next try.
	vain, patience int
}

// pays counts a call, and says whether its caller is to do so, and is timed.
func (p *passing) pays() (does, timed bool) {
	if p.calls++; p.calls > passRound {
		switch {
		case p.patience > 0:
			p.patience--
		case p.inVain > passRound/4:
			p.giveUp()
		default:
			p.vain /= 2
		}
		p.calls, p.inVain = 1, 0
	}
	return p.patience == 0, p.calls%passSample == 1
}

func (p *passing) giveUp() {
	if p.patience > 0 {
		return // Many see the same.
	}
	p.vain = min(2*p.vain+1, mostVain)
	p.patience = p.vain
}

// letPass has who calls let other goroutines run first, where that pays.
func (s *session) letPass(w *waiter) {
	// The session may have ended while it waited for its turn.
	if s.err != nil || s.memory == nil || s.calls.inFlight < passFrom || s.opts.wait == Park ||
		s.isFlooded() {
		return
	}
	does, timed := s.passing.pays()
	if does {
		w.passes, w.timed = mostPasses, timed
	}
}

// transmitUnfenced publishes a request for which somebody flushes: its caller, unless it is
// answered before. False if it has to be sent otherwise.
func (s *session) transmitUnfenced(head abi.Head, out *outgoing) bool {
	if !out.isPlain() || out.reserved != nil || len(out.bytes) > abi.InlineMax ||
		s.memory.end.PublishUnfenced(&head, out.bytes) != nil {
		return false
	}
	s.sent.count(head.Kind, head.Flags, len(out.bytes))
	return true
}

// pass lets other goroutines run and, if the reply has not come then, takes what has, unless
// somebody else drives. True if the reply is there: then the lock is not held.
func (s *session) pass(w *waiter) bool {
	w.passing = true
	s.mu.Unlock()
	if w.timed {
		s.passTimed()
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
	w.passing = false
	w.passes--
	if s.passing.patience > 0 {
		w.passes = 0 // Given up meanwhile.
	}
	if w.passes == 0 {
		s.passing.inVain++
	}
	if s.err == nil {
		s.flush()
	}
	s.turnOnce()
	return false
}

// passTimed lets other goroutines run, and has nobody do so for a while if they take long.
func (s *session) passTimed() {
	began := time.Now()
	runtime.Gosched()
	if time.Since(began) > lostCPU {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.passing.giveUp()
	}
}

// turnOnce takes what has come, if nobody drives.
func (s *session) turnOnce() {
	if s.leading || s.err != nil {
		return
	}
	s.leading = true
	s.turn()
	s.leading = false
	if s.err != nil {
		s.free()
	}
	s.promote()
}
