package breezeway

import (
	"errors"
	"math"
	"sync/atomic"
	"time"
)

const (
	// quickHandler is the longest average time of handlers that the session's goroutine runs. One
	// handler counts at most four times as long: its CPU may have been taken.
	quickHandler = 50 * time.Microsecond
	// handOverAfter is after how long, and at twice that at most, another goroutine reads the
	// session of a handler that runs.
	handOverAfter = 500 * time.Microsecond
	// averaged is the number of handlers of an average, and after how many quick ones in a row less
	// are run elsewhere after the next slow one.
	averaged = 16
	// mostElsewhere bounds how many handlers run in goroutines of their own between two attempts.
	mostElsewhere = 1024
)

// A pace determines whether the session's goroutine runs the next handler of some methods.
type pace struct {
	average   time.Duration
	quick     int // handlers since the last slow one
	left      int // handlers to run elsewhere
	elsewhere int // is how many it was the last time
}

func (p *pace) isSlow() bool {
	if p.left == 0 {
		return false
	}
	p.left--
	return true
}

// record counts a handler that the session's goroutine has run.
func (p *pace) record(took time.Duration) {
	p.average += (min(took, 4*quickHandler) - p.average) / averaged
	if p.average > quickHandler {
		p.slow()
	} else if p.quick++; p.quick%averaged == 0 {
		p.elsewhere = max(p.elsewhere-1, 0)
	}
}

// slow counts a slow handler, or a slow average.
func (p *pace) slow() {
	p.elsewhere = min(2*p.elsewhere+averaged, mostElsewhere)
	p.left, p.quick, p.average = p.elsewhere, 0, quickHandler/2
}

// An inlineRunner runs quick handlers in the goroutine that reads a session, for a server with
// Offload. Another goroutine reads the session from then on if a handler takes long.
type inlineRunner struct {
	server  *Server
	session *session
	paces   *[64]pace // by method; methods may share one
	method  uint32    // of the last handler
	// run is odd while a handler runs, or handedOver.
	run atomic.Uint64
	// timer calls watch, and is armed while watched is set: the server counts it as a goroutine
	// then. seen is the value of run at its last call.
	timer   *time.Timer
	watched atomic.Bool
	seen    uint64
}

const handedOver = math.MaxUint64

// errHandedOver is returned by a goroutine that no longer reads a session.
var errHandedOver = errors.New("another goroutine reads the session")

func (s *Server) newInlineRunner(session *session, paces *[64]pace) *inlineRunner {
	r := &inlineRunner{server: s, session: session, paces: paces}
	r.timer = time.AfterFunc(math.MaxInt64, r.watch)
	r.timer.Stop()
	return r
}

func (r *inlineRunner) pace(method uint32) *pace {
	const golden = 0x9e3779b1 // spreads numbers that follow each other
	return &r.paces[method*golden>>26]
}

// serve runs the handler of a call, or starts a goroutine for it. It returns false if another
// goroutine reads the session from now on.
func (r *inlineRunner) serve(call *Call) bool {
	s := r.server
	call.session.begin(call)
	if call.IsOneWay() {
		call.session.beginPost(call.message.length)
	}
	s.waitForHandler(call.session)
	pace := r.pace(call.Method())
	if pace.isSlow() {
		s.served.Add(1)
		go func() {
			defer s.served.Done()
			s.runOffloaded(call)
		}()
		return true
	}
	turn := r.run.Load() + 1
	r.method = call.Method()
	r.run.Store(turn)
	r.arm()
	began := time.Now()
	s.runOffloaded(call)
	took := time.Since(began)
	if !r.run.CompareAndSwap(turn, turn+1) {
		return false
	}
	pace.record(took)
	return true
}

// runOffloaded runs the handler of a call. Its place is free afterwards, also if the handler calls
// runtime.Goexit.
func (s *Server) runOffloaded(call *Call) {
	if call.IsOneWay() {
		defer call.session.endPost(call.message.length)
	}
	defer func() { <-s.offload }()
	s.run(call)
}

func (r *inlineRunner) arm() {
	if !r.watched.Load() && r.watched.CompareAndSwap(false, true) {
		r.server.served.Add(1)
		r.timer.Reset(handOverAfter)
	}
}

// stop ends the timer of a goroutine that no longer reads. A call of watch that has begun ends when
// it finds that no handler runs.
func (r *inlineRunner) stop() {
	if r.timer.Stop() {
		r.server.served.Done()
	}
}

// watch reads the session if the same handler runs as at the last call. Otherwise it arms the timer
// again, unless no handler has begun since.
func (r *inlineRunner) watch() {
	run := r.run.Load()
	switch isRunning := run%2 == 1; {
	case run != r.seen || isRunning && !r.run.CompareAndSwap(run, handedOver):
		r.seen = run
		r.timer.Reset(handOverAfter)
		return
	case isRunning:
		defer r.server.served.Done() // A handler may end this goroutine.
		r.pace(r.method).slow()
		r.server.read(r.session, r.paces)
		return
	default:
		r.watched.Store(false)
		if r.run.Load() != run {
			r.arm()
		}
	}
	r.server.served.Done()
}
