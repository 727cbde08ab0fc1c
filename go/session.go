package breezeway

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

const (
	// entriesPerTurn bounds what a turn takes, so that others get the lock.
	entriesPerTurn = 256
	// linger is how long Close waits for a socket to take what was sent.
	linger = time.Second
)

// session is what a connection is made of, behind one lock. Nobody has a goroutine for it: whoever
// waits for something drives it, one at a time; see waiting.go.
type session struct {
	*ledger
	leash *leash
	// exit is the number of the client's process among those that are watched; 0 if it is not.
	exit uint64
	// linger is how long a session waits at its end for the other side to take what was sent.
	linger time.Duration
	// The link by its type, for what is called with every message: one of both is nil. Through an
	// interface, each message would be moved to the heap.
	memory *memoryLink
	socket *socketLink
	peer   Peer
	opts   *options

	isClient  bool
	peerHello *proto.Hello
	ownHello  *proto.Hello

	err error
	// lateness fires when replies behind the other side's shutdown have waited for too long.
	lateness *time.Timer
	leaving  bool // It is closed once nothing is under way on it; see closeOnceIdle.

	// Driving; see waiting.go.
	leading     bool
	followers   followers
	heir        *waiter // was woken to drive, and has not looked yet
	freeWaiters []*waiter
	maxMessage  int
	budget      time.Duration
	processors  int  // GOMAXPROCS, as last asked
	resumed     bool // others were given their replies since who drives has last yielded
	// noPolling counts short waits since polling was given up.
	noPolling backOff
	// crowdedUntil is until when this machine counts as one whose CPUs others want; of who drives.
	crowdedUntil time.Time
	parking      int
	inPoller     bool    // somebody sleeps in the poller
	standing     *waiter // who does so while others may drive
	// streamMessages counts the messages of streams since the last arrival.
	streamMessages int
	parkFn         func(fd uintptr) bool
	armed          time.Time
	dirty          atomic.Bool
	in             incoming

	// Waiting for room.
	roomWaiters []*waiter
	memoryWaits int
	short       bool
	settling    bool // settleLater runs

	// rules are those of the protocol.
	rules       proto.Session[*waiter, *Stream]
	callWaiters []*waiter // that wait for a call to end
	yielding    yielding
	openers     []*waiter // that wait for a stream to end
	posters     []*waiter // that wait for the window of one-way messages
	throttle    proto.Throttle
	serving     map[uint32]*Call

	arrivals      []arrival
	arrivalFirst  int
	acceptWaiters []*waiter
	done          chan struct{}
}

// arrival is what came from the other side and nobody has taken up.
type arrival struct {
	head    proto.Head
	message Message
	stream  *Stream
	// deadline is until when the caller waits, as its entry said when it came; zero if it did not.
	deadline time.Time
}

func newSession(agreed *agreement, conn net.Conn, raw syscall.RawConn, peer Peer, opts *options,
	isClient bool) (*session, error) {
	s := &session{
		ledger: &ledger{role: role(isClient), conn: conn, raw: raw, gone: make(chan struct{})},
		peer:   peer, opts: opts, isClient: isClient,
		ownHello: agreed.own, peerHello: agreed.peer, done: make(chan struct{}),
		budget: opts.spinBound, processors: runtime.GOMAXPROCS(0), linger: linger,
	}
	onSocket := agreed.ownControl == nil
	s.rules = proto.NewSession[*waiter, *Stream](isClient, agreed.own, agreed.peer, onSocket)
	s.parkFn, s.maxMessage = s.parkOnce, s.rules.MaxMessage()
	if onSocket {
		s.socket = newSocketLink(agreed.carrier, conn, raw, s.maxMessage, agreed.within)
		s.link = s.socket
		s.enroll()
		return s, nil
	}
	limits := shm.Limits{Cap: s.maxMessage, FirstSegment: int(opts.firstSegment),
		ShrinkAfter: opts.shrinkAfter, Account: agreed.account}
	end, err := shm.New(raw, agreed.ownControl, agreed.peerControl, agreed.own, agreed.peer, limits)
	if err != nil {
		return nil, err
	}
	if opts.prefault > 0 {
		end.Prefault(max(opts.prefault, opts.firstSegment))
	}
	s.throttle = newThrottle(opts.underWay)
	s.memory = &memoryLink{end: end, trusted: opts.trusted}
	s.in.entry.Body = &s.in.message.inline
	s.link = s.memory
	s.enroll()
	return s, nil
}

// ---- turns ----

// turn takes what has come and sends what is owed; true if it did something. The lock is held, and
// the caller drives.
func (s *session) turn() bool {
	worked, err := s.tryTurn()
	if err != nil {
		if isShortage(err) {
			s.short = true // The next entry waits until this process can take it.
			return false
		}
		s.end(err)
		return true
	}
	return worked
}

func (s *session) tryTurn() (bool, error) {
	worked := false
	if s.rules.Ending.HasClosed() {
		worked = s.awaitGone()
	}
	for i := 0; i < entriesPerTurn && s.rules.TakesEntries(); i++ {
		taken, progress, err := s.take()
		if err != nil {
			return worked, err
		}
		if !taken && !progress {
			if !worked && s.link.isClosed() {
				return false, ErrPeerDied
			}
			break
		}
		worked = true
		if !taken {
			s.received.entries[aControl]++
		} else {
			s.received.count(s.in.entry.Kind, s.in.entry.Flags, s.in.message.length)
			if err := s.dispatch(); err != nil {
				return true, err
			}
		}
		if s.memory != nil && !s.memory.end.IsReady() {
			break
		}
	}
	if s.rules.IsDue() {
		sent, err := s.sendOwed()
		worked = worked || sent
		if err != nil {
			return worked, err
		}
	}
	if len(s.roomWaiters) > 0 {
		has, err := s.hasRoom()
		if err != nil {
			return worked, err
		}
		if !has && !s.rules.AwaitsPeer() {
			s.wakeRoom() // They look for it themselves now.
		}
	}
	return worked, nil
}

// hasRoom returns true if the other side has made room since armRoom, and wakes all waiters for it
// then.
func (s *session) hasRoom() (bool, error) {
	has, err := s.link.hasRoom()
	if has {
		s.rules.Ending.RoomMade()
		s.wakeRoom()
	}
	return has, err
}

func (s *session) wakeRoom() { wake(&s.roomWaiters, true) }

// sendOwed sends a go-away that is due, and window and reset entries that streams owe.
func (s *session) sendOwed() (bool, error) {
	sent := false
	for {
		due, found := s.rules.NextTransmit()
		if !found {
			break
		}
		var body [proto.WindowLen]byte
		out := outgoing{bytes: due.AppendBody(body[:0])}
		if err := s.transmit(due.Head, &out); errors.Is(err, shm.ErrFull) {
			if s.socket != nil && s.makeRoom() {
				continue
			}
			break
		} else if err != nil {
			return sent, err
		}
		if over := s.rules.Transmitted(due); over != nil {
			s.streamOver(over.Owner)
		}
		sent = true
	}
	if sent {
		s.flush()
	}
	return sent, nil
}

// makeRoom has a socket take what it takes. If that leaves no room, writeBacklog runs, which sends
// what is owed.
func (s *session) makeRoom() bool {
	s.flush()
	has, _ := s.socket.hasRoom()
	return has
}

// settle is what every operation on streams ends with: what it owes is sent, or later if there is
// no room.
func (s *session) settle() {
	if s.err != nil || !s.rules.IsDue() {
		return
	}
	if _, err := s.sendOwed(); err != nil {
		s.finish(err)
		return
	}
	if s.rules.IsDue() && s.isDriven() {
		s.interrupt() // Who is parked does not wait for room yet.
	}
	if s.rules.IsDue() {
		s.oweLater() // Who drives may wait for nothing any more, and nobody need drive.
	}
}

// oweLater has somebody drive until what is owed has found room. A socket's backlog has a goroutine
// of its own.
func (s *session) oweLater() {
	if s.memory != nil && !s.settling {
		s.settling = true
		go s.settleLater()
	}
}

// settleLater drives a session until what is owed has found room.
func (s *session) settleLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.newWaiter()
	_ = s.wait(w, limit{}, func() bool { return !s.rules.IsDue() })
	s.freeWaiter(w)
	s.settling = false
}

// ---- sending ----

// transmit publishes a message: all of it or, with an error, nothing.
func (s *session) transmit(head proto.Head, out *outgoing) error {
	var err error
	total := out.prefixLen() + out.length()
	if !s.rules.Allows(&head) {
		return cmp.Or(s.ending(), ErrClosed)
	}
	if s.memory != nil {
		err = s.memory.send(&head, out, total)
	} else {
		err = s.socket.send(head, out)
	}
	if err == nil {
		out.sent = true
		s.sent.count(head.Kind, head.Flags, total)
	}
	return err
}

func (s *session) flush() {
	if s.memory != nil {
		s.memory.flush()
	} else {
		s.socket.flush()
		s.keepWriting()
	}
}

// keepWriting has what a socket did not take written by a goroutine.
func (s *session) keepWriting() {
	if socket := s.socket; socket != nil && !socket.writing && socket.sent < len(socket.out) {
		socket.writing = true
		go s.writeBacklog()
	}
}

func (s *session) take() (taken, progress bool, err error) {
	if s.memory != nil {
		return s.memory.take(&s.in)
	}
	return s.socket.take(&s.in)
}

// send publishes a message, waiting for room, and wakes the other side. The lock is held.
func (s *session) send(head proto.Head, out *outgoing, lim *limit) error {
	for {
		if s.err != nil {
			return s.err
		}
		err := s.transmit(head, out)
		if err == nil {
			s.flush()
			return nil
		}
		if err := s.waitForRoom(err, *lim); err != nil {
			return err
		}
	}
}

// waitForRoom waits for what an error says is missing; it gives any other error back.
func (s *session) waitForRoom(err error, lim limit) error {
	memory := errors.Is(err, shm.ErrNoMemory)
	if !memory && !errors.Is(err, shm.ErrFull) {
		return s.concerns(err)
	}
	if s.ending() != nil {
		if !lim.isReply || !s.rules.Ending.RepliesWait() {
			return s.ending()
		}
		s.limitLastReplies()
		if !memory {
			lim.deadline = time.Time{} // Room on a ring or a socket is limited by that alone.
		}
	}
	w := s.newWaiter()
	defer s.freeWaiter(w)
	if memory {
		s.memoryWaits++
	}
	failed := s.armRoom()
	s.roomWaiters = append(s.roomWaiters, w)
	outcome := s.wait(w, lim, func() bool {
		if s.err != nil {
			return false // Its memory may be gone; wait says why.
		}
		var has bool
		if failed == nil {
			has, failed = s.hasRoom()
		}
		return has || failed != nil || w.isWoken()
	})
	remove(&s.roomWaiters, w)
	if memory {
		s.memoryWaits--
		if s.memoryWaits == 0 && !s.freed {
			s.link.disarmRoom()
		}
	}
	if failed != nil {
		return s.concerns(failed)
	}
	return outcome
}

// armRoom announces that somebody waits for room. The announcement is one for all who wait, and
// what came before it does not end a wait: so those who wait for that are woken first.
func (s *session) armRoom() error {
	if s.hush(); s.err != nil {
		return s.err
	}
	if len(s.roomWaiters) > 0 {
		has, err := s.hasRoom()
		if err != nil {
			return err
		}
		if has {
			s.interrupt() // One of them may be parked.
		}
	}
	s.link.armRoom(s.memoryWaits > 0)
	s.keepWriting()
	return nil
}

// concerns ends the session if an error is one of it.
func (s *session) concerns(err error) error {
	var broken *ViolationError
	if errors.As(err, &broken) || errors.Is(err, io.EOF) {
		s.finish(err)
	}
	return err
}

// limit is how long somebody waits.
type limit struct {
	ctx      context.Context // nil if it is never done
	deadline time.Time       // zero if there is none
	expiry   *expiry         // nil if there is none
	isReply  bool            // who waits sends a reply, or reserves space for one
}

func limitOf(ctx context.Context) limit {
	if ctx.Done() == nil {
		return limit{}
	}
	return limit{ctx: ctx}
}
