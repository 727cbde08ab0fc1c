package breezeway

import (
	"runtime"
	"time"
)

// wait waits until ready returns true, the session ends, or the limit is reached. The lock is held
// before and after, and during calls of ready.
func (s *session) wait(w *waiter, lim *limit, ready func() bool) error {
	var err error
	if lim.expiry != nil {
		lim.expiry.waiter = w
		defer func() { lim.expiry.waiter = nil }()
	}
	for !ready() {
		if err = s.err; err != nil {
			break
		}
		if err = lim.err(); err != nil {
			break
		}
		switch {
		case w.stands && s.mayStandBy():
			s.standBy(w, lim)
		case s.leading || !s.rules.AwaitsPeer() || !w.rests.IsZero():
			if s.follow(w, s.untilLook(w, lim)) {
				panic("a reply for a waiter without a call")
			}
			s.rested(w)
		case s.lead(w, lim, ready):
			s.promote() // ready may return true only once.
			return nil
		}
	}
	s.promote()
	return err
}

// waitIn waits as a member of a list of waiters, and then frees the waiter.
func (s *session) waitIn(list *[]*waiter, w *waiter, lim *limit, ready func() bool) error {
	*list = append(*list, w)
	err := s.wait(w, lim, func() bool {
		w.woken = false
		return ready()
	})
	remove(list, w)
	s.freeWaiter(w)
	return err
}

// waitUntil waits as wait does, with a waiter of its own.
func (s *session) waitUntil(ready func() bool, lim limit) error {
	w := s.newWaiter()
	defer s.freeWaiter(w)
	return s.wait(w, &lim, ready)
}

// waitForReply waits for the reply of a call. It releases the lock, and frees the waiter.
func (s *session) waitForReply(w *waiter, p *callInFlight, lim *limit, reply *Message) error {
	var err error
	for !w.answered {
		if err = s.err; err != nil {
			break
		}
		if err = lim.err(); err != nil {
			break
		}
		if w.yields > 0 {
			if s.yield(w) {
				return w.finish(reply)
			}
		} else if s.leading || !s.rules.AwaitsPeer() || !w.rests.IsZero() {
			if s.follow(w, lim) {
				return w.finish(reply)
			}
			s.rested(w)
		} else if s.lead(w, lim, func() bool { return w.answered }) {
			break
		}
	}
	s.promote()
	if err != nil {
		s.giveUp(p)
	} else {
		err = w.takeReply(reply)
	}
	s.freeWaiter(w)
	s.mu.Unlock()
	return err
}

// finish takes the reply of a waiter that the session has dropped.
func (w *waiter) finish(reply *Message) error {
	err := w.takeReply(reply)
	w.clear()
	waiterPool.Put(w)
	return err
}

func (w *waiter) takeReply(reply *Message) error {
	if w.err != nil {
		return w.err
	}
	*reply = w.reply
	return nil
}

// promote ensures that a waiter drives, if there is one. It wakes one sleeper for that, and no
// other before that one has run.
func (s *session) promote() {
	if s.leading || s.heir != nil || s.err != nil || !s.rules.AwaitsPeer() {
		return
	}
	if s.standing != nil {
		s.leaveToStanding()
		return
	}
	if s.heir = s.followers.first(); s.heir != nil {
		s.heir.wake()
	} else if s.rules.IsDue() {
		s.oweLater()
	}
}

// onlyStreams is how many messages of streams must arrive in a row, without an arrival, before the
// waiter for arrivals leaves polling to readers of streams.
const onlyStreams = 16

// mayStandBy returns true if a waiter for arrivals should sleep in the poller while another waiter
// drives. That one then needs no successor when it leaves.
func (s *session) mayStandBy() bool {
	return s.leading && !s.inPoller && s.memory != nil && s.rules.AwaitsPeer() &&
		!s.link.isClosed() && s.streamMessages >= onlyStreams
}

// isDriven returns true if a waiter drives, or sleeps in the poller to do so.
func (s *session) isDriven() bool { return s.leading || s.standing != nil }

// standBy sleeps in the poller while another waiter drives.
func (s *session) standBy(w *waiter, lim *limit) {
	w.parkedOn, s.standing = s, w
	s.park(lim)
	w.parkedOn, s.standing = nil, nil
	if s.err != nil && !s.leading {
		s.free()
	}
}

// leaveToStanding leaves driving to the waiter that stands by in the poller. It asks the peer to
// ring the doorbell, or interrupts that waiter if there is more to do.
func (s *session) leaveToStanding() {
	for range catchUpTurns {
		if s.hush(); s.err != nil {
			return
		}
		armed, err := s.memory.end.Arm()
		if err != nil {
			s.note(violation(err))
			return
		}
		if s.maySleep(armed) {
			return
		}
		if !s.turn() || s.err != nil || !s.rules.AwaitsPeer() {
			break
		}
	}
	s.interrupt()
}

// rested adapts the polling time to the length of a rest.
func (s *session) rested(w *waiter) {
	if !w.rests.IsZero() && !w.stands {
		now := time.Now()
		s.learn(false, now.Sub(w.rests), now)
	}
	w.rests = time.Time{}
}

// lookAgain is the pause between two checks for room in shared memory without a driver.
const lookAgain = time.Millisecond

// untilLook returns the limit of a sleep. Without a driver, because the session is flooded or the
// client has closed its socket, the first of those that wait for room polls for it.
func (s *session) untilLook(w *waiter, lim *limit) *limit {
	if s.memory == nil || s.rules.AwaitsPeer() || !s.isFirstForRoom(w) {
		return lim
	}
	soon := *lim
	soon.deadline = time.Now().Add(lookAgain) // It may pass the limit's own deadline by that much.
	return &soon
}

// follow sleeps until the waiter is woken or the limit is reached. It returns true, without the
// lock, if the reply has arrived.
func (s *session) follow(w *waiter, lim *limit) bool {
	s.followers.add(w)
	s.mu.Unlock()
	answered, heard := w.sleep(lim)
	if answered {
		return true
	}
	s.mu.Lock()
	if s.heir == w {
		s.heir = nil
	}
	if w.asleep {
		w.leave()
	} else if !heard {
		<-w.ch // The waiter was woken in between.
	}
	return false
}

// sleep listens to ch within the limit. It returns the received value, and whether there was one.
func (w *waiter) sleep(lim *limit) (answered, heard bool) {
	if lim.ctx == nil && lim.deadline.IsZero() {
		return <-w.ch, true
	}
	var done <-chan struct{}
	if lim.ctx != nil {
		done = lim.ctx.Done()
	}
	var expired <-chan time.Time
	if !lim.deadline.IsZero() {
		timer := time.NewTimer(time.Until(lim.deadline))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case answered = <-w.ch:
		return answered, true
	case <-done:
	case <-expired:
	}
	return false, false
}

// lead drives the session until ready returns true, the session ends, or the limit is reached. It
// returns true if ready did and the session has not ended. After the end only a new call of ready
// counts.
func (s *session) lead(w *waiter, lim *limit, ready func() bool) bool {
	s.leading = true
	if s.standing != nil {
		s.memory.end.Disarm()
	}
	is, began := false, time.Time{}
	for worked := 0; s.err == nil && lim.err() == nil && s.rules.AwaitsPeer(); {
		if s.turn() {
			if is = ready(); is {
				break
			}
			began = time.Time{}
			if worked++; worked%turnsPerLock == 0 {
				s.letIn()
			}
			continue
		}
		if s.err != nil {
			break
		}
		if is = ready(); is {
			break
		}
		if s.short {
			s.pause()
			continue
		}
		s.flush()
		if w.stands && s.streamMessages >= onlyStreams {
			began = time.Time{} // A reader of a stream polls, if polling pays.
		} else if s.spin(&began, w.handsOn) {
			continue
		}
		// An interrupt during polling does not end the sleep.
		if is = ready(); is || lim.err() != nil {
			break
		}
		if s.seeksEmpty {
			continue
		}
		if w.stands && s.memory != nil && s.standing == nil && s.streamMessages >= onlyStreams {
			s.leading = false
			s.standBy(w, lim)
			if s.leading {
				return false // A reader of a stream drives.
			}
			s.leading = true
			continue
		}
		if s.standing != nil {
			s.hush()
			armed, err := s.memory.end.Arm()
			if err != nil {
				s.note(violation(err))
			} else if s.maySleep(armed) {
				if w.rests = began; began.IsZero() {
					w.rests = time.Now() // It did not poll.
				}
				break
			}
			continue
		}
		w.parkedOn = s
		s.park(lim)
		w.parkedOn = nil
		now := time.Now()
		s.learn(false, now.Sub(began), now)
		began = time.Time{}
	}
	s.leading = false
	if s.leads++; s.leads%leadsPerPublish == 0 || !s.rules.AwaitsPeer() {
		s.publish() // A flooded session is not driven again before a handler returns.
	}
	if s.err != nil {
		s.free()
	}
	return is && s.err == nil
}

// turnsPerLock is after how many turns the driver lets other goroutines take the lock. The peer may
// send entries without end that no goroutine waits for.
const turnsPerLock = 16

// leadsPerPublish is how often the numbers of a session that never sleeps are published: once in
// so many times that it was driven.
const leadsPerPublish = 64

// letIn lets other goroutines take the lock.
func (s *session) letIn() {
	s.mu.Unlock()
	runtime.Gosched()
	s.mu.Lock()
}
