package breezeway

import (
	"runtime"
	"sync/atomic"
	"time"
)

// learn adapts the polling time to the outcome of a wait. A poll without success counts against
// polling, however soon an entry came afterwards, because the peer may have been waiting for this
// CPU. While other threads contend for the CPUs, so does a wait of more than half the longest
// polling time.
func (s *session) learn(found bool, waited time.Duration, now time.Time) {
	most := s.opts.spinBound
	if now.Before(s.crowdedUntil) {
		most /= 2
	}
	polls := s.budget >= leastBudget
	switch {
	case found && waited <= most:
		s.budget = s.opts.spinBound
		s.noPolling.paid()
	case polls:
		if s.budget /= 2; s.budget < leastBudget {
			s.noPolling.failed()
		}
	case waited > most:
	case s.noPolling.skip():
	default:
		s.budget = s.opts.spinBound
	}
}

const (
	// busyRound is how long Busy polls before it reads the socket and checks its condition.
	busyRound = 50 * time.Microsecond
	// pollsPerLook is the number of polls between two reads of the clock.
	pollsPerLook = 256
	leastBudget  = time.Microsecond
	// quiet is how long a poller polls before it first yields.
	quiet = 5 * time.Microsecond
	// lostCPU is the gap in a poller's run that counts as the loss of its CPU to another thread,
	// and crowding is how long such a loss counts.
	lostCPU  = 500 * time.Microsecond
	crowding = time.Second
)

// pollers counts the goroutines of this process that poll after the first polls have failed.
var pollers atomic.Int64

// isAlone returns true if only the driver is known to want the lock. The driver then first polls
// with the lock held, because releasing and taking it costs as much as many polls.
func (s *session) isAlone() bool {
	return s.rules.Calls.InFlight() <= 1 && s.rules.Served.Running() == 0 && s.openStreams == 0
}

// spin polls for the next entry, and returns false when it is time to park. The lock is held before
// and after. During polling it is released, except briefly by a driver that is alone. The clock is
// read only after the first polls have failed.
func (s *session) spin(began *time.Time, handsOn bool) bool {
	budget := s.pollingTime()
	if budget == 0 {
		*began = time.Now()
		return false
	}
	room, resumed := len(s.roomWaiters) > 0, s.resumed || handsOn
	s.resumed = false
	if !room && !resumed && s.isAlone() && s.poll(false) {
		return true
	}
	s.mu.Unlock()
	if resumed {
		// Those goroutines have messages to send, and are queued behind this one on its P.
		runtime.Gosched()
	}
	found, lost, now, from := s.poll(room), false, time.Time{}, time.Time{}
	if !found {
		now = time.Now()
		from = now
		if began.IsZero() {
			*began = now
		}
		if room {
			runtime.Gosched()
		} else {
			now, found, lost = s.pollOn(now, budget, handsOn)
		}
	}
	s.mu.Lock()
	if !from.IsZero() {
		s.record.spinTime += uint64(now.Sub(from))
	}
	switch {
	case !found:
		s.processors = runtime.GOMAXPROCS(0)
	case !from.IsZero():
		s.record.spun++
	}
	if lost {
		s.crowdedUntil = now.Add(crowding)
	}
	switch {
	case s.opts.wait == Busy && !found && s.err == nil:
		s.look()
	case s.opts.wait == Busy || now.IsZero():
	case found:
		s.learn(true, now.Sub(*began), now)
	default:
		// A waiter for room has a turn check for room.
		return room && now.Sub(*began) <= budget
	}
	return true
}

// pollOn polls for the given time. It returns the time at its end, whether there is an entry, and
// whether it has lost its CPU. Other goroutines run on the Ps without pollers. If pollers occupy
// the last P, each of them yields repeatedly. (If a P is idle, yielding wakes a thread, which may
// take the peer's CPU.)
func (s *session) pollOn(now time.Time, budget time.Duration, yields bool) (at time.Time,
	found, lost bool) {
	began := now
	for !yields && now.Sub(began) < quiet {
		if s.poll(false) {
			return now, true, lost
		}
		now = time.Now()
	}
	if pollers.Add(1) >= int64(runtime.GOMAXPROCS(0)) {
		yields = true
	}
	defer pollers.Add(-1)
	for now.Sub(began) <= budget && !s.over.Load() {
		if yields {
			runtime.Gosched()
		}
		if s.poll(false) {
			return now, true, lost
		}
		last := now
		now = time.Now()
		lost = lost || now.Sub(last) > lostCPU
	}
	if s.opts.wait == Busy {
		runtime.Gosched()
	}
	return now, false, lost
}

// pollingTime returns how long to poll before parking or, under Busy, before reading the socket.
func (s *session) pollingTime() time.Duration {
	switch {
	case s.memory == nil || s.opts.wait == Park || s.rules.Ending.HasClosed():
		return 0
	case s.opts.wait == Busy:
		return busyRound
	case s.budget < leastBudget || s.processors == 1:
		return 0
	}
	return s.budget
}

// poll checks for the next entry a few hundred times, or once.
func (s *session) poll(once bool) bool {
	for i := 0; i < pollsPerLook; i++ {
		ready, err := s.memory.end.Ready()
		if ready || err != nil {
			return true
		}
		if once {
			break
		}
	}
	return false
}

// mostBackOff is the maximum number of attempts to skip.
const mostBackOff = 63

// A backOff skips attempts at something that did not pay: more of them after each failure, fewer
// after a success.
type backOff struct{ length, left int }

// failed begins to skip attempts.
func (b *backOff) failed() {
	b.length = min(2*b.length+1, mostBackOff)
	b.left = b.length
}

func (b *backOff) paid() { b.length /= 2 }

// isOn returns true while attempts are skipped.
func (b *backOff) isOn() bool { return b.left > 0 }

// skip counts an attempt, and returns true if it is to be skipped.
func (b *backOff) skip() bool {
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}
