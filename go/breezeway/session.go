package breezeway

import (
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

const (
	// entriesPerTurn bounds the entries of one turn, so that other goroutines get the lock.
	entriesPerTurn = 256
	// firstSegment is the size of the first payload segment in bytes, unless a message needs more.
	firstSegment = 64 << 10
	// linger is how long Close waits for a socket to accept what was sent.
	linger = time.Second
)

// A session is the state of a connection, behind one lock. It has no goroutine of its own: one of
// the goroutines that wait on it drives it; see waiting.go.
type session struct {
	*ledger
	leash *leash
	// exit is the number of the client's process in everyExit, or 0 if it is not watched.
	exit uint64
	// linger is how long a session waits at its end for the peer to accept what was sent.
	linger time.Duration
	// One of memory and socket is the link and the other is nil. Calls per message use them:
	// through the interface, each message would escape to the heap.
	memory *memoryLink
	socket *socketLink
	peer   Peer
	opts   *options

	isClient  bool
	peerHello *proto.Hello
	ownHello  *proto.Hello

	err error
	// lateness fires when replies after the peer's shutdown have waited too long.
	lateness   *time.Timer
	leaving    bool // The session is closed once it is idle; see closeOnceIdle.
	seeksEmpty bool // The next turn that finds no entry wakes the followers; see takeCommitted.

	// Driving; see waiting.go.
	leading     bool
	followers   followers
	heir        *waiter // woken to drive, and not running yet
	freeWaiters []*waiter
	maxMessage  int
	budget      time.Duration
	processors  int  // GOMAXPROCS, as last asked
	resumed     bool // other goroutines got replies since the driver last yielded
	// noPolling counts the short waits since polling was given up.
	noPolling backOff
	// crowdedUntil is the time until which the CPUs count as contended. Only the driver uses it.
	crowdedUntil time.Time
	parking      int
	leads        int     // how often the session was driven
	inPoller     bool    // a goroutine sleeps in the poller
	standing     *waiter // sleeps in the poller while another waiter may drive
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

	// rules is the protocol core.
	rules       proto.Session[*waiter, *Stream]
	callWaiters []*waiter // wait for a call to end
	yielding    yielding
	openers     []*waiter // wait for a stream to end
	posters     []*waiter // wait for the window of one-way messages
	throttle    proto.Throttle
	serving     map[uint32]*Call
	taken       *Call         // the last one that was taken up, until it is over
	contexts    []callContext // for the next calls; of the goroutine that takes them up
	postWaiters []*waiter     // wait for the handler of a one-way message to end

	arrivals      []arrival
	arrivalFirst  int
	acceptWaiters []*waiter
	done          chan struct{}
}

// An arrival is a request or stream of the peer that was not taken up.
type arrival struct {
	head    proto.Head
	message Message
	stream  *Stream
	// deadline is the time until which the caller waits, computed when the entry arrived; zero if
	// it has none.
	deadline time.Time
	// cancelled is true if the client has cancelled the call. The session's lock guards it.
	cancelled bool
}

func newSession(agreed *agreement, conn net.Conn, raw syscall.RawConn, peer Peer, opts *options,
	isClient bool) (*session, error) {
	s := &session{
		ledger: &ledger{role: role(isClient), record: &record{}, conn: conn, raw: raw,
			gone: make(chan struct{})},
		peer: peer, opts: opts, isClient: isClient,
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
	limits := shm.Limits{Cap: s.maxMessage, FirstSegment: firstSegment,
		ShrinkAfter: opts.shrinkAfter, Account: agreed.account}
	end, err := shm.New(raw, agreed.ownControl, agreed.peerControl, agreed.own, agreed.peer, limits)
	if err != nil {
		return nil, err
	}
	if opts.prefault > 0 {
		end.Prefault(max(opts.prefault, firstSegment))
	}
	s.throttle = newThrottle(opts.underWay)
	s.memory = &memoryLink{end: end, trusted: opts.trusted}
	s.in.entry.Body = &s.in.message.inline
	s.link = s.memory
	s.enroll()
	return s, nil
}

// turn takes arrived entries and sends pending ones. It returns true if it did something. The lock
// is held, and the caller drives.
func (s *session) turn() bool {
	worked, err := s.tryTurn()
	if err != nil {
		if isShortage(err) {
			s.short = true // The next entry waits until this process has the resources.
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
			if s.seeksEmpty {
				s.seeksEmpty = false
				s.followers.wakeAll()
			}
			break
		}
		worked = true
		if !taken {
			s.record.received.entries[aControl]++
		} else {
			s.record.received.count(s.in.entry.Kind, s.in.entry.Flags, s.in.message.length)
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
			s.wakeRoom() // They look for room themselves now.
		}
	}
	return worked, nil
}

// hasRoom returns true if the peer has made room since armRoom, and then wakes all waiters for
// room.
func (s *session) hasRoom() (bool, error) {
	has, err := s.link.hasRoom()
	if has {
		s.rules.Ending.RoomMade()
		s.wakeRoom()
	}
	return has, err
}

func (s *session) wakeRoom() { wake(&s.roomWaiters, true) }

// sendOwed sends pending entries: a go-away, and windows and resets of streams.
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

// makeRoom flushes the socket and returns true if there is room. Otherwise writeBacklog runs, which
// sends pending entries later.
func (s *session) makeRoom() bool {
	s.flush()
	has, _ := s.socket.hasRoom()
	return has
}

// settle ends every operation on streams. It sends pending entries, or schedules that if there is
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
		s.interrupt() // A parked driver does not wait for room yet.
	}
	if s.rules.IsDue() {
		s.oweLater() // The driver may leave without a successor.
	}
}

// oweLater makes a goroutine drive until pending entries have found room. A socket's backlog has a
// goroutine of its own.
func (s *session) oweLater() {
	if s.memory != nil && !s.settling {
		s.settling = true
		go s.settleLater()
	}
}

// settleLater drives a session until pending entries have found room.
func (s *session) settleLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.waitUntil(func() bool { return !s.rules.IsDue() }, limit{})
	s.settling = false
}
