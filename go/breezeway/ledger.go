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

// A ledger holds the part of a session that Statistics reads, and that is needed to end a session
// which has become unreachable. It never refers to its session, so that the list of all ledgers
// keeps no session alive.
type ledger struct {
	mu   sync.Mutex // the session's lock
	role int
	link link
	conn net.Conn
	raw  syscall.RawConn

	over  atomic.Bool // the session's err is set
	freed bool
	gone  chan struct{} // closed once the connection is closed
	// openStreams and waiting count the open streams, and the arrivals that were not taken up.
	openStreams, waiting int

	// record holds the numbers, in the file that tools read while the session lives and the file
	// has room. Its spun counts the waits that polling ended after the first polls had failed, and
	// its spinTime the time spent on polling after the first polls.
	record      *record
	recordIndex int

	_ [16]byte // Each call writes a ledger: no other one shares its cache lines.
}

// A leash is reachable only from its session. A finalizer on the session would never run, because
// the session is part of reference cycles.
type leash struct{ ledger *ledger }

// enroll adds a new session to the statistics, and has it ended once it is unreachable.
func (s *session) enroll() {
	every := &everySession
	every.mu.Lock()
	defer every.mu.Unlock()
	if every.live == nil {
		every.live = map[*ledger]struct{}{}
	}
	every.live[s.ledger] = struct{}{}
	every.ended[s.role].opened++
	s.record.describe(s)
	s.record, s.recordIndex = takeRecord(s.record)
	s.leash = &leash{s.ledger}
	runtime.SetFinalizer(s.leash, func(l *leash) { l.ledger.forgotten() })
}

// retire keeps the sums of a session that has ended. The session's lock is held.
func (l *ledger) retire() {
	every := &everySession
	every.mu.Lock()
	defer every.mu.Unlock()
	if _, lives := every.live[l]; !lives {
		return
	}
	delete(every.live, l)
	l.publish()
	every.ended[l.role].addCounts(l.record)
	if l.recordIndex != noRecord {
		l.record, l.recordIndex = l.record.release(l.recordIndex), noRecord
	}
}

// hangUp shuts a connection down, so that it ends even if a forked child holds a copy. It wakes the
// waiter that is parked on it.
func hangUp(raw syscall.RawConn) {
	_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
}

// forgotten ends an unreachable session in order. Received messages outlive it, as they outlive
// Close.
func (l *ledger) forgotten() {
	l.mu.Lock() // Waits for the goroutine with the session's last operation.
	defer l.mu.Unlock()
	if l.freed {
		return
	}
	if !l.over.Swap(true) {
		l.farewell()
		l.retire()
	}
	l.freed = true
	hangUp(l.raw)
	l.link.close()
	l.letGo()
}

// letGo closes the connection, without the lock. It is not used any more.
func (l *ledger) letGo() { closeApart(l.conn, l.link.refused(), l.gone) }

// closeApart closes a connection and the received descriptors that were not taken, and then done.
// It does so in a goroutine, because the peer can make descriptors that take arbitrarily long to
// close.
func closeApart(conn net.Conn, refused []int, done chan<- struct{}) {
	go func() {
		defer close(done)
		_ = conn.Close()
		closeAll(refused)
	}()
}

// waitAMoment waits until a connection is closed, so that its descriptor is free, but not for long,
// as descriptors of the peer may be slow to close.
func waitAMoment(closed <-chan struct{}) {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}

// farewell announces that this side closes, if there is room. Otherwise the peer sees the end of
// file.
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
