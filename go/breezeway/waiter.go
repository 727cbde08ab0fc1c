package breezeway

import (
	"context"
	"os"
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
	reply Message
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

// A limit bounds a wait.
type limit struct {
	ctx      context.Context // nil if it is never done
	deadline time.Time       // zero if there is none
	expiry   *expiry         // nil if there is none
	isReply  bool            // the waiter sends a reply, or reserves space for one
}

func limitOf(ctx context.Context) limit {
	if ctx.Done() == nil {
		return limit{}
	}
	return limit{ctx: ctx}
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
