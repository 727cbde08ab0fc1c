package breezeway

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A ledger is what Statistics knows of a session, and all that is needed to end one that the
// program has forgotten. It never refers to its session, so that the list of all ledgers keeps none
// alive.
type ledger struct {
	mu   sync.Mutex // the session's lock
	role int
	link link
	conn net.Conn
	raw  syscall.RawConn

	over  atomic.Bool // the session's err is set
	freed bool
	gone  chan struct{} // closed once the connection is
	// What the session has now: streams, and arrivals that nobody has taken up.
	openStreams, waiting int

	sent, received traffic
	// Waits that ended while polling, and how long was polled in all, of those that the first polls
	// did not end.
	spun   uint64
	polled time.Duration
}

// A leash is reachable from its session alone. A session is part of cycles, so that a finalizer of
// its own would never run.
type leash struct{ ledger *ledger }

// enroll has a new session counted, and ended once nobody can reach it any more.
func (s *session) enroll() {
	every := &everySession
	every.mu.Lock()
	defer every.mu.Unlock()
	if every.live == nil {
		every.live = map[*ledger]struct{}{}
	}
	every.live[s.ledger] = struct{}{}
	every.ended[s.role].opened++
	s.leash = &leash{s.ledger}
	runtime.SetFinalizer(s.leash, func(l *leash) { l.ledger.forgotten() })
}

// retire keeps the sums of a session that is over. The session's lock is held.
func (l *ledger) retire() {
	every := &everySession
	every.mu.Lock()
	defer every.mu.Unlock()
	if _, lives := every.live[l]; !lives {
		return
	}
	delete(every.live, l)
	l.addCounts(&every.ended[l.role])
}

// hangUp ends the connection also where a forked child holds a copy, and wakes whoever is parked on
// it.
func (l *ledger) hangUp() {
	_ = l.raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
}

// forgotten ends a session that nobody can reach, in order. Messages that were kept outlive it, as
// they outlive Close.
func (l *ledger) forgotten() {
	l.mu.Lock() // Waits for who let go of the session with its last operation.
	defer l.mu.Unlock()
	if l.freed {
		return
	}
	if !l.over.Swap(true) {
		l.farewell()
		l.retire()
	}
	l.freed = true
	l.hangUp()
	l.link.close()
	l.letGo()
}

// letGo closes the connection, without the lock. Nobody uses it any more.
func (l *ledger) letGo() { closeApart(l.conn, l.link.refused(), l.gone) }

// closeApart closes a connection, and descriptors that came on it and were not taken, and says when
// it has. It does so in a goroutine: what the other side has sent may be slow to close, for as long
// as that one likes.
func closeApart(conn net.Conn, refused []int, done chan<- struct{}) {
	go func() {
		defer close(done)
		_ = conn.Close()
		closeAll(refused)
	}()
}

// waitAMoment waits until a connection is closed, so that its descriptor is free, unless what the
// other side has sent is slow to close.
func waitAMoment(closed <-chan struct{}) {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}

// farewell says that this side closes, as far as there is room for it: without it the end of file
// says so, less politely.
func (l *ledger) farewell() {
	head := proto.Head{Kind: proto.KindShutdown}
	switch link := l.link.(type) {
	case *memoryLink:
		_ = link.send(&head, &outgoing{}, 0)
		link.flush()
	case *socketLink:
		_ = link.send(head, &outgoing{})
		link.bye()
	}
}
