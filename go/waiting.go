package breezeway

import (
	"context"
	"os"
	"runtime"
	"slices"
	"time"
)

// A waiter is a goroutine that waits for something of a session.
//
// One of them drives it, the leader: it takes what comes for everybody, polls while that has paid
// lately, and then parks in the runtime's network poller on the session socket. So a lone caller
// reads its own reply, without a hand-over. The others, the followers, sleep until what they wait
// for has come, or the leader has left and one of them takes its place.
type waiter struct {
	ch chan struct{}
	// woken is set by who wakes it, and asleep while it listens to the channel; both under the
	// lock.
	woken, asleep bool
}

func (s *session) newWaiter() *waiter {
	last := len(s.freeWaiters) - 1
	if last < 0 {
		return &waiter{ch: make(chan struct{}, 1)}
	}
	w := s.freeWaiters[last]
	s.freeWaiters = s.freeWaiters[:last]
	return w
}

// freeWaiter gives it back; nobody refers to it any more.
func (s *session) freeWaiter(w *waiter) {
	w.woken = false
	s.freeWaiters = append(s.freeWaiters, w)
}

func (w *waiter) wake() {
	w.woken = true
	if w.asleep {
		w.asleep = false
		w.ch <- struct{}{}
	}
}

// isWoken says, once, whether it was woken.
func (w *waiter) isWoken() bool {
	was := w.woken
	w.woken = false
	return was
}

// wake wakes all of a list, and empties it if they register anew.
func wake(list *[]*waiter, empty bool) {
	for _, w := range *list {
		w.wake()
	}
	if empty {
		*list = (*list)[:0]
	}
}

func remove(list *[]*waiter, w *waiter) {
	if i := slices.Index(*list, w); i >= 0 {
		*list = slices.Delete(*list, i, i+1)
	}
}

func (l *limit) err() error {
	if l.ctx != nil {
		select {
		case <-l.ctx.Done():
			return l.ctx.Err()
		default:
		}
	}
	if !l.deadline.IsZero() && !time.Now().Before(l.deadline) {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// wait waits until ready says so, or the session is over, or the limit is reached. Ready is asked
// with the lock held, which is held before and after.
func (s *session) wait(w *waiter, lim limit, ready func() bool) error {
	var err error
	for !ready() {
		if err = s.err; err != nil {
			break
		}
		if err = lim.err(); err != nil {
			break
		}
		if s.leading || s.isFlooded() {
			s.follow(w, &lim)
		} else if s.lead(&lim, ready) {
			break // It may say so only once.
		}
	}
	s.promote()
	return err
}

// promote sees to it that somebody drives, if anybody waits.
func (s *session) promote() {
	if !s.leading && len(s.followers) > 0 && s.err == nil && !s.isFlooded() {
		s.followers[0].wake()
	}
}

// follow sleeps until the waiter is woken, for whatever reason.
func (s *session) follow(w *waiter, lim *limit) {
	s.followers = append(s.followers, w)
	w.asleep = true
	s.mu.Unlock()
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
	heard := false
	select {
	case <-w.ch:
		heard = true
	case <-done:
	case <-expired:
	}
	s.mu.Lock()
	if !w.asleep && !heard {
		<-w.ch // It was woken meanwhile.
	}
	w.asleep = false
	remove(&s.followers, w)
}

// lead drives the session until ready says so, or it is over, or the limit is reached. True if ready
// said so, and the session goes on: of one that is over, nothing is left but what ready says then.
func (s *session) lead(lim *limit, ready func() bool) bool {
	s.leading = true
	is, began := false, time.Time{}
	for s.err == nil && lim.err() == nil && !s.isFlooded() {
		if s.turn() {
			if is = ready(); is {
				break
			}
			began = time.Time{}
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
		if s.spin(&began) {
			continue
		}
		// An interrupt that came while this goroutine polled does not end its sleep.
		if is = ready(); is {
			break
		}
		s.park(lim)
		s.learn(time.Since(began))
		began = time.Time{}
	}
	s.leading = false
	if s.err != nil {
		s.free()
	}
	return is && s.err == nil
}

// learn adjusts how long is polled before parking by the length of a wait, however it was spent:
// the evidence that polling would have paid.
func (s *session) learn(waited time.Duration) {
	if waited <= s.opts.spinBound {
		s.budget = s.opts.spinBound
	} else {
		s.budget /= 2
	}
}

const (
	// busyRound is how long Busy polls before it looks at the socket, and at what it waits for.
	busyRound = 50 * time.Microsecond
	// pollsPerYield is how often a poller lets other goroutines run, and reads the clock.
	pollsPerYield = 256
	leastBudget   = time.Microsecond
)

// spin polls for the next entry; false if it is time to park. The lock is held before and after,
// not meanwhile. The clock is read only once the first polls were in vain.
func (s *session) spin(began *time.Time) bool {
	budget := s.pollingTime()
	if budget == 0 {
		*began = time.Now()
		return false
	}
	room := len(s.roomWaiters) > 0
	s.mu.Unlock()
	found := s.poll(room)
	if began.IsZero() && !found {
		*began = time.Now()
	}
	round := time.Duration(0)
	if !found && s.opts.wait == Busy {
		round = time.Since(*began)
	}
	for !found && !s.over.Load() {
		runtime.Gosched()
		if room || time.Since(*began) > round+budget {
			break
		}
		found = s.poll(false)
	}
	s.mu.Lock()
	if s.opts.wait == Busy {
		if !found && s.err == nil {
			s.look()
		}
		return true
	}
	// Who waits for room has a turn look for it.
	return found || room && time.Since(*began) <= budget
}

// pollingTime is how long to poll before parking, or, under Busy, before looking at the socket.
func (s *session) pollingTime() time.Duration {
	switch {
	case s.memory == nil || s.opts.wait == Park:
		return 0
	case s.opts.wait == Busy:
		return busyRound
	case s.budget < leastBudget || runtime.GOMAXPROCS(0) == 1:
		return 0
	}
	return s.budget
}

// poll asks for the next entry a few hundred times, or once.
func (s *session) poll(once bool) bool {
	for i := 0; i < pollsPerYield; i++ {
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

// look reads the socket of a session that is polled.
func (s *session) look() {
	if err := s.link.awake(); err != nil {
		s.note(err)
	}
}

// catchUp takes what has come, if nobody drives who would: of a session for which nobody waits, the
// other side's end is known only then.
func (s *session) catchUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.leading {
		return
	}
	s.leading = true
	s.look()
	// The end is seen by a turn that finds nothing else.
	for more := true; more && s.err == nil && !s.isFlooded(); {
		more = s.turn()
	}
	s.leading = false
	if s.err != nil {
		s.free()
	}
	s.promote()
}

// note ends the session for an error of it. After a shortage, who drives pauses.
func (s *session) note(err error) {
	if s.short = isShortage(err); !s.short {
		s.finish(err)
	}
}

var longAgo = time.Unix(1, 0)

// park sleeps in the network poller until the socket has something, or the limit is reached. The
// lock is held before and after, not meanwhile.
func (s *session) park(lim *limit) {
	s.parking = 0
	if s.dirty.Swap(false) || !s.armed.Equal(lim.deadline) {
		s.armed = lim.deadline
		_ = s.conn.SetReadDeadline(lim.deadline) // Of a connection that is over, reading says so.
	}
	var stop func() bool
	if lim.ctx != nil {
		stop = context.AfterFunc(lim.ctx, s.interrupt)
	}
	s.mu.Unlock()
	err := s.raw.Read(s.parkFn)
	if stop != nil {
		stop()
	}
	s.mu.Lock()
	if err != nil {
		// A deadline, of this limit or of an interrupt, or the end, which a read shows.
		s.dirty.Store(true)
		if s.err == nil {
			s.look()
		}
	}
}

// interrupt makes whoever is parked look at what it waits for.
func (s *session) interrupt() {
	s.dirty.Store(true)
	_ = s.conn.SetReadDeadline(longAgo)
}

// shortagePause is how long a session waits for descriptors or memory of this process, which
// nothing reports.
const shortagePause = 10 * time.Millisecond

func (s *session) pause() {
	s.short = false
	s.mu.Unlock()
	time.Sleep(shortagePause)
	s.mu.Lock()
	s.look()
}

// parkOnce is asked by the poller before it sleeps, and after. One read of the socket for each
// sleep is enough: what comes later is there for the next one.
func (s *session) parkOnce(uintptr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return true
	}
	s.parking++
	if s.parking > 1 {
		return true
	}
	asleep, err := s.link.prepareSleep()
	if err != nil {
		s.note(err)
		return true
	}
	if asleep && len(s.roomWaiters) > 0 && s.mayHaveRoom() {
		return true
	}
	if asleep && s.owes {
		s.link.armRoom(s.memoryWaits > 0)
		return s.mayHaveRoom()
	}
	return !asleep
}

// mayHaveRoom says whether a turn finds room, or why there is none.
func (s *session) mayHaveRoom() bool {
	has, err := s.link.hasRoom()
	return has || err != nil
}
