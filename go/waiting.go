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

// A waiter is a goroutine that waits for something of a session.
//
// One of them drives it, the leader: it takes what comes for everybody, polls while that has paid
// lately, and then parks in the runtime's network poller on the session socket. So a lone caller
// reads its own reply, without a hand-over. The others, the followers, sleep until what they wait
// for has come, or the leader has left and one of them takes its place.
type waiter struct {
	// ch ends its sleep, and says whether the reply that it waits for is there: then the session
	// knows nothing of the waiter any more, and who slept needs no lock.
	ch chan bool
	// woken is set by who wakes it, and asleep while it listens to the channel; both under the
	// lock.
	woken, asleep bool
	// parkedOn is set while it leads that session and sleeps in the poller.
	parkedOn *session
	// stands is set of who waits for whatever the other side asks for: it can sleep in the poller
	// while others drive.
	stands bool
	// handsOn is set of who reads a stream: it may have just given what it read to another
	// goroutine, behind it in the queue of its P, without which nothing more comes.
	handsOn bool
	// yields is how often it may still let other goroutines run before it sleeps or drives, and
	// timed whether that is timed. While it does so it is yielding, and given says that its reply
	// is there: then the session knows nothing of it any more, and it needs no lock.
	yields          int
	yielding, timed bool
	given           atomic.Bool
	// rests is since when it leaves driving to who sleeps in the poller; zero if it does not.
	rests time.Time
	// What has come for a call.
	answered bool
	reply    Reply
	err      error
	// Its place among the followers while it is asleep.
	previous, next *waiter
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

// freeWaiter gives it back; nobody refers to it any more.
func (s *session) freeWaiter(w *waiter) {
	w.clear()
	s.freeWaiters = append(s.freeWaiters, w)
}

func (w *waiter) clear() {
	w.woken, w.answered, w.stands, w.handsOn, w.err = false, false, false, false, nil
	w.reply.private, w.reply.metadata, w.reply.lent = nil, nil, nil
	w.rests = time.Time{}
	w.yields, w.yielding, w.timed = 0, false, false
	w.given.Store(false)
}

func (w *waiter) wake() {
	w.woken = true
	if w.parkedOn != nil {
		// By somebody of this side: what the other side sends wakes it anyway.
		w.parkedOn.interrupt()
	}
	w.rouse(false)
}

// rouse ends its sleep, if it sleeps.
func (w *waiter) rouse(answered bool) {
	switch {
	case w.asleep:
		w.leave()
		w.ch <- answered
	case w.yielding && answered:
		w.given.Store(true)
	}
}

// leave takes it out of the followers.
func (w *waiter) leave() {
	w.asleep = false
	w.previous.next, w.next.previous = w.next, w.previous
	w.previous, w.next = nil, nil
}

// followers are a ring of waiters that are asleep, which begins and ends with a root that is none.
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

// first is who sleeps the longest; nil if nobody does.
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

// wakeNext wakes the first of a list, for each thing that ends.
func wakeNext(list *[]*waiter) {
	if len(*list) > 0 {
		(*list)[0].wake()
		*list = slices.Delete(*list, 0, 1)
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

// wait waits until ready says so, or the session is over, or the limit is reached. Ready is asked
// with the lock held, which is held before and after.
func (s *session) wait(w *waiter, lim limit, ready func() bool) error {
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
			s.standBy(w, &lim)
		case s.leading || !s.rules.AwaitsPeer() || !w.rests.IsZero():
			if s.follow(w, s.untilLook(&lim)) {
				panic("a reply for who waits for none")
			}
			s.rested(w)
		case s.lead(w, &lim, ready):
			s.promote() // It may say so only once.
			return nil
		}
	}
	s.promote()
	return err
}

// waitIn is wait as one of a list of waiters. The waiter is not the caller's afterwards.
func (s *session) waitIn(list *[]*waiter, w *waiter, lim limit, ready func() bool) error {
	*list = append(*list, w)
	err := s.wait(w, lim, ready)
	remove(list, w)
	s.freeWaiter(w)
	return err
}

// waitForReply is wait for the reply of a call, but that neither the lock nor the waiter is the
// caller's afterwards.
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

// finish takes the reply of a waiter of which the session knows nothing any more.
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

// promote sees to it that somebody drives, if anybody waits. Of those who sleep, one is woken for
// it, and no other before that one has looked.
func (s *session) promote() {
	if s.leading || s.heir != nil || s.err != nil || !s.rules.AwaitsPeer() {
		return
	}
	if s.standing != nil && s.leaveToStanding() {
		return
	}
	if s.heir = s.followers.first(); s.heir != nil {
		s.heir.wake()
	} else if s.rules.IsDue() {
		s.oweLater()
	}
}

// onlyStreams is after how many messages of streams in a row, without an arrival, who waits for
// arrivals leaves polling to who reads streams.
const onlyStreams = 16

// mayStandBy says whether who waits for arrivals is to sleep in the poller while another one
// drives, who then needs nobody to take its place when it leaves.
func (s *session) mayStandBy() bool {
	return s.leading && !s.inPoller && s.memory != nil && s.rules.AwaitsPeer() &&
		!s.link.isClosed() && s.streamMessages >= onlyStreams
}

// isDriven says whether somebody drives, or sleeps in the poller to do so.
func (s *session) isDriven() bool { return s.leading || s.standing != nil }

// standBy sleeps in the poller while another one drives.
func (s *session) standBy(w *waiter, lim *limit) {
	w.parkedOn, s.standing = s, w
	s.park(lim)
	w.parkedOn, s.standing = nil, nil
	if s.err != nil && !s.leading {
		s.free()
	}
}

// leaveToStanding has the other side ring for who sleeps in the poller. False if there is something
// to do for who drives.
func (s *session) leaveToStanding() bool {
	for range catchUpTurns {
		if s.hush(); s.err != nil {
			return true
		}
		armed, err := s.memory.end.Arm()
		if err != nil {
			s.note(violation(err))
			return true
		}
		if s.maySleep(armed) {
			return true
		}
		if !s.turn() || s.err != nil || !s.rules.AwaitsPeer() {
			break
		}
	}
	s.interrupt()
	return true
}

// rested learns from a rest, if that was one, of who has polled before it.
func (s *session) rested(w *waiter) {
	if !w.rests.IsZero() && !w.stands {
		now := time.Now()
		s.learn(false, now.Sub(w.rests), now)
	}
	w.rests = time.Time{}
}

// lookAgain is the pause between two looks for room in shared memory without a driver.
const lookAgain = time.Millisecond

// untilLook returns the limit of a sleep. A reply polls for room without a driver: its session is
// flooded, or the client has closed its socket.
func (s *session) untilLook(lim *limit) *limit {
	if !lim.isReply || s.memory == nil || s.rules.AwaitsPeer() {
		return lim
	}
	soon := *lim
	soon.deadline = time.Now().Add(lookAgain) // It may pass the limit's own by as little.
	return &soon
}

// follow sleeps until the waiter is woken, for whatever reason. True if its reply is there: then
// the lock is not held.
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
		<-w.ch // It was woken meanwhile.
	}
	return false
}

// sleep listens to the channel, within the limit, and says what it heard, if anything.
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

// lead drives the session until ready says so, or it is over, or the limit is reached. True if
// ready said so, and the session goes on: of one that is over, nothing is left but what ready says
// then.
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
			began = time.Time{} // Who reads streams polls, if it pays.
		} else if s.spin(&began, w.handsOn) {
			continue
		}
		// An interrupt that came while this goroutine polled does not end its sleep.
		if is = ready(); is || lim.err() != nil {
			break
		}
		if w.stands && s.memory != nil && s.standing == nil && s.streamMessages >= onlyStreams {
			s.leading = false
			s.standBy(w, lim)
			if s.leading {
				return false // Somebody reads streams meanwhile.
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

// turnsPerLock is after how many turns who drives lets others have the lock: the other side may
// send for ever what nobody waits for.
const turnsPerLock = 16

// letIn lets those have the lock who wait for it.
func (s *session) letIn() {
	s.mu.Unlock()
	runtime.Gosched()
	s.mu.Lock()
}

// learn adjusts how long is polled before parking by what became of a wait: the evidence that
// polling pays. Polling in vain tells against it, however soon it came then: who is waited for may
// have been waiting for this CPU. So does, where others want the CPUs, a wait of nearly all that
// may be polled.
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
	// busyRound is how long Busy polls before it looks at the socket, and at what it waits for.
	busyRound = 50 * time.Microsecond
	// pollsPerLook is how often a poller reads the clock.
	pollsPerLook = 256
	leastBudget  = time.Microsecond
	// quiet is how long a poller polls before it yields for the first time.
	quiet = 5 * time.Microsecond
	// A poller that has not run for so long has lost its CPU to others; for how long that counts.
	lostCPU  = 500 * time.Microsecond
	crowding = time.Second
)

// pollers counts the goroutines of this process that have polled in vain for a while.
var pollers atomic.Int64

// isAlone says whether nobody but who drives is known to want the lock: then it first polls with it
// held, for half a microsecond, as letting go of it and taking it again cost as much as many polls.
func (s *session) isAlone() bool {
	return s.rules.Calls.InFlight() <= 1 && s.rules.Served.Running() == 0 && s.openStreams == 0
}

// spin polls for the next entry; false if it is time to park. The lock is held before and after,
// and not meanwhile, but by who is alone, for a moment. The clock is read only once the first polls
// were in vain.
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
		// They have something to send, and are behind this goroutine in the queue of its P.
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
		// Who waits for room has a turn look for it.
		return room && now.Sub(*began) <= budget
	}
	return true
}

// pollOn polls until a time has passed, and says when it ended, and whether it has lost its CPU
// meanwhile. Others run on the Ps that those who poll leave them; if these take the last one, each
// of them yields again and again. (Yielding wakes a thread if a P is idle, which takes the CPU of
// who is waited for.)
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

// pollingTime is how long to poll before parking, or, under Busy, before looking at the socket.
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

// poll asks for the next entry a few hundred times, or once.
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

// hush reads the doorbells that announcements have brought, before they are more than the socket
// has room for: who announces need not be the one who sleeps in the poller and reads them. What was
// to wake that one may be among them, so it looks for itself.
func (s *session) hush() {
	if s.memory == nil || !s.memory.end.IsRungOut() {
		return
	}
	s.look()
	if s.inPoller {
		s.interrupt()
	}
}

// catchUpTurns bounds what is taken by who does not wait: the other side may go on for ever.
const catchUpTurns = 64

// catchUp takes what has come, if nobody drives who would: of a session for which nobody waits, the
// other side's end is known only then. Of one that has sent more than catchUpTurns take, the rest
// is left for the next time.
func (s *session) catchUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeTurns(catchUpTurns, true)
}

// takeTurns takes what has come, if nobody drives, within so many turns. The other side's end is
// seen by a turn that finds nothing else; a socket is read before each if looks says so, as what is
// read of it at a time may end before that.
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
	s.inPoller = true
	s.parking, s.resumed, s.processors = 0, false, runtime.GOMAXPROCS(0)
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
	s.inPoller = false
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
	if s.over.Load() {
		return // It has been hung up, and who closes it waits for no lock.
	}
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
	if s.standing != nil && s.leading {
		s.look() // Another one drives, and notes the other side's end.
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

// maySleep says whether who has announced to sleep may, as far as others wait for room.
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

// mayHaveRoom says whether a turn finds room, or why there is none.
func (s *session) mayHaveRoom() bool {
	has, err := s.link.hasRoom()
	return has || err != nil
}
