package breezeway

import (
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A waiter is a goroutine that waits on a session.
//
// One waiter, the leader, drives the session. It takes entries for all waiters, polls while polling
// has recently paid, and then parks in the runtime's network poller on the session's socket. Thus a
// lone caller reads its own reply, without a hand-over. The other waiters, the followers, sleep
// until their condition holds, or until the leader has left and one of them takes its place.
type waiter struct {
	// ch ends the sleep. It receives true if the reply has arrived. The session has then dropped
	// the waiter, which needs no lock.
	ch chan bool
	// woken is set by wake, and asleep while the waiter listens to ch. The lock guards both.
	woken, asleep bool
	// stands is set for a waiter for arrivals. It can sleep in the poller while others drive.
	stands bool
	// handsOn is set for a reader of a stream. It may have just passed a message to another
	// goroutine that runs next on this P, and only that goroutine may cause further messages.
	handsOn bool
	// answered is set once the outcome of a call is known.
	answered bool
	// parkedOn is the session on whose socket the waiter sleeps in the poller.
	parkedOn *session
	// yields is how many more times the waiter may let other goroutines run before it sleeps or
	// drives, and timed is true if that is timed. yielding is true while it does so. given is set
	// once the reply has arrived. The session has then dropped the waiter, which needs no lock.
	yielding, timed bool
	given           atomic.Bool
	yields          int
	// rests is the time since when the waiter has left driving to the one in the poller, or zero.
	rests time.Time
	// until is the deadline of a waiter for room, or zero if it has none.
	until time.Time
	// reply and err hold the outcome of a call.
	reply Reply
	err   error
	// previous and next link the waiter into the followers while it is asleep.
	previous, next *waiter

	_ [8]byte // Each call writes waiters: those of other CPUs share no cache line with this one.
}

var waiterPool = sync.Pool{New: func() any { return newWaiter() }}

func newWaiter() *waiter { return &waiter{ch: make(chan bool, 1)} }

func (s *session) newWaiter() *waiter {
	last := len(s.freeWaiters) - 1
	if last < 0 {
		return waiterPool.Get().(*waiter)
	}
	w := s.freeWaiters[last]
	s.freeWaiters = s.freeWaiters[:last]
	return w
}

// freeWaiter recycles a waiter without other references.
func (s *session) freeWaiter(w *waiter) {
	w.clear()
	s.freeWaiters = append(s.freeWaiters, w)
}

func (w *waiter) clear() {
	w.woken, w.answered, w.stands, w.handsOn, w.err = false, false, false, false, nil
	w.reply.private, w.reply.metadata, w.reply.lent = nil, nil, nil
	w.rests = time.Time{}
	w.yields, w.yielding, w.timed = 0, false, false
	if w.given.Load() { // A load is cheaper than the locked instruction of a store.
		w.given.Store(false)
	}
}

func (w *waiter) wake() {
	w.woken = true
	if w.parkedOn != nil {
		// The cause is on this side. Entries of the peer wake the poller anyway.
		w.parkedOn.interrupt()
	}
	w.rouse(false)
}

// rouse ends the sleep of a sleeping waiter.
func (w *waiter) rouse(answered bool) {
	switch {
	case w.asleep:
		w.leave()
		w.ch <- answered
	case w.yielding && answered:
		w.given.Store(true)
	}
}

// leave removes the waiter from the followers.
func (w *waiter) leave() {
	w.asleep = false
	w.previous.next, w.next.previous = w.next, w.previous
	w.previous, w.next = nil, nil
}

// followers is a ring of sleeping waiters. The root is not a waiter itself.
type followers struct{ root waiter }

func (f *followers) add(w *waiter) {
	root := &f.root
	if root.next == nil {
		root.previous, root.next = root, root
	}
	w.previous, w.next = root.previous, root
	root.previous.next, root.previous = w, w
	w.asleep = true
}

// first returns the waiter that has slept the longest, or nil.
func (f *followers) first() *waiter {
	if f.root.next == &f.root {
		return nil
	}
	return f.root.next
}

func (f *followers) wakeAll() {
	for w := f.first(); w != nil; w = f.first() {
		w.wake()
	}
}

// isWoken returns true once per wake-up.
func (w *waiter) isWoken() bool {
	was := w.woken
	w.woken = false
	return was
}

// wake wakes all waiters of a list, and empties it if they register again.
func wake(list *[]*waiter, empty bool) {
	for _, w := range *list {
		w.wake()
	}
	if empty {
		*list = (*list)[:0]
	}
}

// wakeNext wakes the first waiter of a list that has not been woken since it last checked its
// condition. The waiter stays in the list, since others may take what it was woken for.
func wakeNext(list []*waiter) {
	if len(list) > 0 {
		wakeSleeper(list)
	}
}

func wakeSleeper(list []*waiter) {
	for _, w := range list {
		if !w.woken {
			w.wake()
			return
		}
	}
}

func remove(list *[]*waiter, w *waiter) {
	if last := len(*list) - 1; last >= 0 && (*list)[last] == w {
		(*list)[last] = nil
		*list = (*list)[:last]
		return
	}
	if i := slices.Index(*list, w); i >= 0 {
		*list = slices.Delete(*list, i, i+1)
	}
}

func (l *limit) err() error {
	if l.ctx == nil && l.expiry == nil && l.deadline.IsZero() {
		return nil
	}
	return l.reached()
}

func (l *limit) reached() error {
	if l.expiry != nil {
		if err := l.expiry.ended(); err != nil {
			return err
		}
	}
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
func (s *session) waitForReply(w *waiter, p *callInFlight, lim *limit, reply *Reply) error {
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
func (w *waiter) finish(reply *Reply) error {
	err := w.takeReply(reply)
	w.clear()
	waiterPool.Put(w)
	return err
}

func (w *waiter) takeReply(reply *Reply) error {
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
	if s.err != nil {
		s.free()
	}
	return is && s.err == nil
}

// turnsPerLock is after how many turns the driver lets other goroutines take the lock. The peer may
// send entries without end that no goroutine waits for.
const turnsPerLock = 16

// letIn lets other goroutines take the lock.
func (s *session) letIn() {
	s.mu.Unlock()
	runtime.Gosched()
	s.mu.Lock()
}

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
		s.polled += now.Sub(from)
	}
	switch {
	case !found:
		s.processors = runtime.GOMAXPROCS(0)
	case !from.IsZero():
		s.spun++
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

// look reads the socket of a session that is polled.
func (s *session) look() {
	if err := s.link.awake(); err != nil {
		s.note(err)
	}
}

// hush reads the doorbells that announcements have caused before they exceed the socket's buffer.
// The announcing goroutine need not be the one that sleeps in the poller and reads them. A doorbell
// for that one may be among them, so it is interrupted.
func (s *session) hush() {
	if s.memory == nil || !s.memory.end.IsRungOut() {
		return
	}
	s.look()
	if s.inPoller {
		s.interrupt()
	}
}

// catchUpTurns bounds the turns of a goroutine that does not wait: the peer may send without end.
const catchUpTurns = 64

// catchUp takes arrived entries if no goroutine drives. A session without waiters notices the
// peer's end only here. Entries beyond catchUpTurns turns are left for the next call.
func (s *session) catchUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeTurns(catchUpTurns, true)
}

// takeTurns takes arrived entries if no goroutine drives, in at most most turns. The turn that
// finds no entry notices the peer's end. If looks is set, the socket is read before each turn,
// since one read may end before the peer's end.
func (s *session) takeTurns(most int, looks bool) {
	if s.leading || s.err != nil {
		return
	}
	s.leading = true
	for turns := 0; turns < most && s.err == nil; turns++ {
		if turns > 0 && !s.rules.AwaitsPeer() {
			break
		}
		if looks {
			s.look()
		}
		if s.err != nil || !s.turn() {
			break
		}
	}
	s.leading = false
	if s.err != nil {
		s.free()
	}
	s.promote()
}

// note ends the session after an error. After a shortage, the driver pauses instead.
func (s *session) note(err error) {
	if s.short = isShortage(err); !s.short {
		s.finish(err)
	}
}

var longAgo = time.Unix(1, 0)

// park sleeps in the network poller until the socket is ready or the limit is reached. The lock is
// held before and after, but not during the sleep.
func (s *session) park(lim *limit) {
	s.inPoller = true
	s.parking, s.resumed, s.processors = 0, false, runtime.GOMAXPROCS(0)
	if s.dirty.Swap(false) || !s.armed.Equal(lim.deadline) {
		s.armed = lim.deadline
		_ = s.conn.SetReadDeadline(lim.deadline) // A read reports a connection that is over.
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
	s.inPoller = false
	if err != nil {
		// This is a deadline, of the limit or of an interrupt, or the end of the connection; a read
		// distinguishes them.
		s.dirty.Store(true)
		if s.err == nil {
			s.look()
		}
	}
}

// interrupt makes the parked waiter check its condition.
func (s *session) interrupt() {
	if s.over.Load() {
		return // The connection was shut down, and is closed without the lock.
	}
	s.dirty.Store(true)
	_ = s.conn.SetReadDeadline(longAgo)
}

// shortagePause is how long a session waits for descriptors or memory of this process, whose return
// is not reported.
const shortagePause = 10 * time.Millisecond

func (s *session) pause() {
	s.short = false
	s.mu.Unlock()
	time.Sleep(shortagePause)
	s.mu.Lock()
	s.look()
}

// parkOnce is called by the poller before and after it sleeps. One read of the socket per sleep is
// enough: later input is read by the next one.
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
	if s.standing != nil && s.leading {
		s.look() // Another waiter drives, and notices the peer's end.
		return s.err != nil || s.link.isClosed()
	}
	asleep, err := s.link.prepareSleep()
	s.keepWriting()
	if err != nil {
		s.note(err)
		return true
	}
	return !s.maySleep(asleep)
}

// maySleep returns true if a driver that has announced its sleep may sleep, as far as waiters for
// room are concerned.
func (s *session) maySleep(announced bool) bool {
	if !announced || len(s.roomWaiters) > 0 && s.mayHaveRoom() {
		return false
	}
	if s.rules.IsDue() {
		s.link.armRoom(s.memoryWaits > 0)
		return !s.mayHaveRoom()
	}
	return true
}

// mayHaveRoom returns true if a turn would find room, or an error.
func (s *session) mayHaveRoom() bool {
	has, err := s.link.hasRoom()
	return has || err != nil
}
