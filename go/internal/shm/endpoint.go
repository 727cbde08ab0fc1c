// Package shm implements one end of a session in shared memory, after the hellos: rings, lends and
// releases, payload segments and the doorbell (docs/abi.md, sections 1 and 3 to 6). Its caller
// holds a lock; only Ready and the end of a lease do not need it.
package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// ErrFull is returned for an entry if the ring is full. ErrNoMemory is returned for a payload if
// memory or lend numbers are missing until the peer releases some.
var (
	ErrFull     = errors.New("the ring is full")
	ErrNoMemory = errors.New("payload memory is lent")
)

// A TooLargeError is returned for a message that never fits.
type TooLargeError struct{ Len, Max int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a message of %d bytes; this session takes %d (option WithCap of either "+
		"side)", e.Len, e.Max)
}

// Limits bound the memory of a session.
type Limits struct {
	Cap, FirstSegment int
	ShrinkAfter       time.Duration
	// Account is the account that payload segments are charged to.
	Account segment.Account
}

// Counters are the counters of one side of a session.
type Counters struct {
	EntriesPublished, PayloadBytesLent, DoorbellsRung, Sleeps   uint64
	PayloadSegmentBytes, RingFull, NoMemory, SegmentsAddedSoFar uint64
}

// eager is the payload length from which on the most recently released memory is reused, at the
// price of a load of the peer's release bits.
const eager = 2048

// An Endpoint is one end of a session.
type Endpoint struct {
	own, peer *segment.Mapping
	producer  producer
	consumer  consumer
	lender    *lender
	borrower  borrower
	doorbell  *doorbell
	releaser  *Releaser
	account   segment.Account
	// adds holds the positions of segment add entries that the peer is not known to have consumed.
	adds     []uint64
	counters Counters
	// announced counts the announcements since the socket was last read.
	announced int
	stopped   bool // no entry of the peer is taken any more

	_ [48]byte // Each call writes an endpoint: no other one shares its cache lines.
}

// Control creates this side's control segment. It returns its descriptor too, which the caller
// closes.
func Control(hello *proto.Hello, account segment.Account) (*segment.Mapping, int, error) {
	mapping, fd, err := account.Create(int(proto.ControlSize(hello.RingCapacity)))
	if err != nil {
		return nil, -1, err
	}
	mapping.Store(proto.ControlMagicAt, proto.ControlMagic)
	mapping.Store(proto.ControlVersionAt, proto.Version)
	mapping.Store(proto.ControlRingAt, uint64(hello.RingCapacity))
	mapping.Store(proto.ControlLendsAt, uint64(hello.LendCount))
	mapping.Store(proto.DataWakeAt, proto.Idle)
	mapping.Store(proto.SpaceWakeAt, proto.Idle)
	return mapping, fd, nil
}

// New returns the endpoint for exchanged hellos. It owns both control segments, even if it fails.
func New(raw syscall.RawConn, own, peer *segment.Mapping, ownHello, peerHello *proto.Hello,
	limits Limits) (*Endpoint, error) {
	segmentCap := proto.SegmentCap(ownHello, peerHello)
	bell, err := newDoorbell(raw, segmentCap)
	if err != nil {
		own.Drop()
		peer.Drop()
		return nil, err
	}
	ownMask, peerMask := uint64(ownHello.RingCapacity)-1, uint64(peerHello.RingCapacity)-1
	return &Endpoint{
		own: own, peer: peer, doorbell: bell,
		producer: producer{own: own, peer: peer, mask: ownMask},
		consumer: consumer{own: own, peer: peer, mask: peerMask},
		lender:   newLender(own, peer, peerHello.LendCount, limits),
		borrower: borrower{cap: segmentCap, longest: uint64(limits.Cap),
			lends: ownHello.LendCount},
		account:  limits.Account,
		releaser: &Releaser{own: own, peer: peer, ring: bell.ring},
	}, nil
}

// Stop ends the reading of the peer's ring.
func (e *Endpoint) Stop() { e.stopped = true }

// Exited records that the peer's process has exited: nothing follows what has arrived.
func (e *Endpoint) Exited() { e.doorbell.exited = true }

// Refused returns, once, the received descriptors that are not allowed. Closing them may take as
// long as the peer likes.
func (e *Endpoint) Refused() []int {
	refused := e.doorbell.refused
	e.doorbell.refused = nil
	return refused
}

// Cap returns the length of the largest message.
func (e *Endpoint) Cap() int { return e.lender.cap }

// Counters returns the counters of this side.
func (e *Endpoint) Counters() Counters {
	e.counters.PayloadSegmentBytes = uint64(e.lender.total)
	e.counters.EntriesPublished = e.producer.tail
	return e.counters
}

// Controls returns the addresses of both control segments in this process.
func (e *Endpoint) Controls() (own, peer uint64) { return e.own.Address(), e.peer.Address() }

// Memory returns the bytes of this side's and of the peer's payload segments, and the bits of the
// lends that are not known to be released.
func (e *Endpoint) Memory() (own, peer uint64, lent []uint64) {
	return uint64(e.lender.total), e.borrower.total, e.lender.lent
}

// ---- receiving ----

// Ready returns true if the next entry is committed. It may run concurrently with senders, but not
// with Take.
func (e *Endpoint) Ready() (bool, error) { return e.consumer.ready() }

// IsReady returns true if the next entry is committed. Take reports errors.
func (e *Endpoint) IsReady() bool { return e.consumer.isReady() }

// Take consumes the next entry. It returns false if there is none, or if it concerned segments. A
// shortage leaves the entry in the ring.
func (e *Endpoint) Take(entry *proto.Entry) (bool, error) {
	if ready, err := e.consumer.ready(); err != nil || !ready {
		return false, err
	}
	if err := e.consumer.peek(entry); err != nil {
		return false, err
	}
	taken := false
	switch entry.Kind {
	case proto.KindSegmentAdd:
		if err := e.addForeign(entry); err != nil {
			return false, err
		}
	case proto.KindSegmentRetire:
		if entry.Len != 0 {
			return false, fmt.Errorf("segment retire with a body of %d bytes", entry.Len)
		}
		if err := e.borrower.retire(entry.Tag); err != nil {
			return false, err
		}
	default:
		taken = true
	}
	if entry.Released != 0 {
		if err := e.lender.released(entry.Released - 1); err != nil {
			return false, err
		}
	}
	if e.consumer.advance() {
		e.consumer.publishProgress()
		if e.consumer.doorbellDue() {
			e.ring()
		}
	}
	return taken, nil
}

func (e *Endpoint) addForeign(entry *proto.Entry) error {
	if entry.Len != 8 {
		return fmt.Errorf("segment add with a body of %d bytes; it has 8", entry.Len)
	}
	size := binary.LittleEndian.Uint64(entry.Body[:])
	if err := e.borrower.checkAdd(entry.Tag, size); err != nil {
		return err
	}
	fd, err := e.doorbell.nextSegment()
	if err != nil {
		return err
	}
	mapping, err := segment.Map(fd, size)
	if err != nil {
		return err
	}
	e.doorbell.segmentTaken()
	e.borrower.add(mapping)
	return nil
}

// Borrow takes a lease of the payload of a message with FlagLent.
func (e *Endpoint) Borrow(entry *proto.Entry) (Lease, error) {
	return e.borrower.borrow(entry, e.releaser)
}

// ---- sending ----

// Publish publishes an entry with an inline body. A polling peer may see it immediately; Flush
// wakes a sleeping one.
func (e *Endpoint) Publish(head *proto.Head, body []byte) error {
	if e.producer.knownSpace() == 0 {
		if err := e.needSlots(1); err != nil {
			return err
		}
	}
	e.consumer.shareProgress()
	e.producer.publish(head, body)
	return nil
}

// PublishUnfenced publishes before a Flush that is certain to follow. It immediately wakes a peer
// that is known to sleep.
func (e *Endpoint) PublishUnfenced(head *proto.Head, body []byte) error {
	if e.producer.knownSpace() == 0 {
		if err := e.needSlots(1); err != nil {
			return err
		}
	}
	e.consumer.shareProgress()
	if e.producer.publishUnfenced(head, body) {
		e.Flush()
	}
	return nil
}

// NeedSlot returns ErrFull if the ring is full.
func (e *Endpoint) NeedSlot() error { return e.needSlots(1) }

func (e *Endpoint) needSlots(count uint64) error {
	enough, err := e.producer.hasSpace(count)
	if err == nil && !enough {
		e.counters.RingFull++
		err = ErrFull
	}
	return err
}

// Reserve takes payload space for n bytes, to be lent or abandoned.
func (e *Endpoint) Reserve(n int) (Loan, error) {
	if n > e.lender.cap {
		return Loan{}, &TooLargeError{n, e.lender.cap}
	}
	if n >= eager {
		e.lender.collect()
	}
	loan, taken := e.lender.take(n)
	if !taken {
		e.lender.collect()
		loan, taken = e.lender.take(n)
	}
	if taken {
		return loan, nil
	}
	if err := e.grow(n); err != nil {
		return Loan{}, err
	}
	loan, taken = e.lender.take(n)
	if !taken {
		return Loan{}, e.noMemory()
	}
	return loan, nil
}

// UnderWay returns the number of bytes that are reserved, or lent and not known to be released.
func (e *Endpoint) UnderWay() int { return e.lender.taken }

// Collect takes back the payloads that the peer has released.
func (e *Endpoint) Collect() { e.lender.collect() }

func (e *Endpoint) noMemory() error {
	e.counters.NoMemory++
	return ErrNoMemory
}

// Abandon frees a loan that is not lent.
func (e *Endpoint) Abandon(loan Loan) { e.lender.giveBack(loan) }

// Hold adds a holder of the loan's memory, which may then be filled without the lock.
func (l *Loan) Hold() { l.segment.mapping.Hold() }

// Drop reverts Hold.
func (l *Loan) Drop() { l.segment.mapping.Drop() }

// CopyFrom copies length bytes of a lease into the loan.
func (l *Loan) CopyFrom(at int, lease *Lease, from, length int) {
	if at < 0 || from < 0 || length < 0 || at > l.length-length || from > lease.length-length {
		panic("a copy outside of lent or reserved space")
	}
	l.segment.mapping.CopyAcross(l.offset+at, lease.mapping, lease.offset+from, length)
}

// Lend publishes a message with a filled loan as its body. If it fails, the loan stays reserved.
func (e *Endpoint) Lend(head *proto.Head, loan Loan) error {
	if err := e.needSlots(1); err != nil {
		return err
	}
	lent := *head
	lent.Flags |= proto.FlagLent
	descriptor := loan.descriptor().Encode()
	e.lender.lend(loan)
	e.consumer.shareProgress()
	e.producer.publish(&lent, descriptor[:])
	e.counters.PayloadBytesLent += uint64(loan.length)
	return nil
}

// grow adds a segment for n bytes, and retires free segments if the cap requires it.
func (e *Endpoint) grow(n int) error {
	if len(e.lender.free) == 0 || !e.lender.canMakeRoom(n) {
		return e.noMemory()
	}
	// One entry for the segment, and one for the message in it.
	if err := e.needSlots(2); err != nil {
		return err
	}
	size := e.lender.growth(n)
	for size == 0 {
		retired, err := e.retireSpare()
		if err != nil {
			return err
		}
		if !retired {
			return e.noMemory()
		}
		if err := e.needSlots(2); err != nil {
			return err
		}
		size = e.lender.growth(n)
	}
	return e.addOwn(size)
}

// Prefault allocates payload memory, up to the cap, before a message needs it. It ignores errors:
// the first message reports them if they persist.
func (e *Endpoint) Prefault(bytes uint64) {
	_ = e.addOwn(int(min(proto.RoundUp(bytes), uint64(e.lender.cap))))
}

func (e *Endpoint) retireSpare() (bool, error) {
	if err := e.producer.refresh(); err != nil {
		return false, err
	}
	for i := len(e.lender.segments) - 1; i >= 0; i-- {
		if s := e.lender.segments[i]; e.lender.mayRetire(s, e.producer.consumed) {
			e.retire(s)
			return true, nil
		}
	}
	return false, nil
}

func (e *Endpoint) retire(s *ownSegment) {
	e.producer.publish(&proto.Head{Kind: proto.KindSegmentRetire, Tag: s.number}, nil)
	e.lender.retire(s, e.producer.tail)
}

func (e *Endpoint) addOwn(size int) error {
	for len(e.adds) > 0 && e.adds[0] < e.producer.consumed {
		e.adds = e.adds[1:]
	}
	if len(e.adds) >= proto.MaxPendingSegments {
		return ErrFull // Progress of the peer makes room for one more.
	}
	mapping, fd, err := e.account.Create(size)
	if err != nil {
		return err
	}
	err = e.doorbell.sendSegment(fd)
	unix.Close(fd)
	if err != nil {
		mapping.Drop()
		return err
	}
	var body [8]byte
	binary.LittleEndian.PutUint64(body[:], uint64(size))
	e.adds = append(e.adds, e.producer.tail)
	e.producer.publish(&proto.Head{Kind: proto.KindSegmentAdd, Tag: e.lender.nextNumber}, body[:])
	e.lender.add(mapping)
	e.counters.SegmentsAddedSoFar++
	return nil
}

// Flush publishes the consumed progress, and rings the doorbell if the peer sleeps for that or for
// an entry published since the last call: once per batch.
func (e *Endpoint) Flush() {
	if e.lender.total > e.lender.first {
		e.tidy()
	} else if e.producer.isCompared() && e.consumer.isCompared() {
		return
	}
	e.consumer.publishProgress()
	e.producer.fence()
	// Both are called: each records how far it has compared.
	data, space := e.producer.doorbellDue(), e.consumer.doorbellDue()
	if data || space {
		e.ring()
	}
}

// tidy retires a segment that traffic has not needed for a while.
func (e *Endpoint) tidy() {
	e.lender.collect()
	s := e.lender.age(time.Now())
	if s == nil || e.producer.refresh() != nil { // The next need of space reports it.
		return
	}
	// Do not use the last entries, which replies and control entries need.
	if e.producer.knownSpace() > (e.producer.mask+1)/2 &&
		e.lender.mayRetire(s, e.producer.consumed) {
		e.retire(s)
	}
}

func (e *Endpoint) ring() {
	e.counters.DoorbellsRung++
	e.doorbell.ring()
}

// ---- waiting ----

// Arm announces that the doorbell must ring for the next entry, because a goroutine sleeps in the
// poller, and flushes. It returns false if the entry is committed already.
func (e *Endpoint) Arm() (bool, error) {
	e.announced++
	e.own.Store(proto.DataWakeAt, e.consumer.head)
	e.Flush()
	ready, err := e.isNextReady()
	return err == nil && !ready, err
}

// isNextReady is Ready, but false after Stop.
func (e *Endpoint) isNextReady() (bool, error) {
	if e.stopped {
		return false, nil
	}
	return e.consumer.ready()
}

// Disarm withdraws Arm, because a goroutine polls for the entry.
func (e *Endpoint) Disarm() { e.own.Store(proto.DataWakeAt, proto.Idle) }

// PrepareSleep announces that this side is about to sleep for the next entry, and flushes. It
// returns false if the entry, or the peer's end, is there already.
//
// It also reads the socket, since the poller has just forgotten earlier events. Afterwards it
// checks for the causes of doorbells, because a doorbell that was read wakes no goroutine any more.
func (e *Endpoint) PrepareSleep() (bool, error) {
	e.own.Store(proto.DataWakeAt, e.consumer.head)
	e.Flush()
	e.announced = 0
	if err := e.doorbell.drain(); err != nil {
		return false, err
	}
	ready, err := e.isNextReady()
	asleep := err == nil && !ready && !e.doorbell.closed
	if asleep {
		e.counters.Sleeps++
	}
	return asleep, err
}

// ArmRoom announces that a goroutine sleeps until there is more room: ring entries, and memory too
// if memory is true. It returns the argument for HasRoom.
func (e *Endpoint) ArmRoom(memory bool) Room {
	e.Flush()
	unconsumed := e.producer.tail - e.producer.consumed
	room := Room{e.producer.consumed + max(unconsumed/4, 1), e.lender.back, memory}
	if unconsumed > 0 {
		e.announced++
		e.own.Store(proto.SpaceWakeAt, room.consumed-1)
	}
	if memory {
		e.announced++
		e.lender.arm()
	}
	return room
}

// DisarmRoom withdraws the announcement for memory, since no goroutine waits for room any more.
func (e *Endpoint) DisarmRoom() { e.lender.disarm() }

// A Room records the progress of the peer before a wait for room.
type Room struct {
	consumed, back uint64
	memory         bool
}

// HasRoom returns true if the peer has made room since ArmRoom.
func (e *Endpoint) HasRoom(room Room) (bool, error) {
	if err := e.producer.refresh(); err != nil {
		return false, err
	}
	if e.producer.consumed >= room.consumed {
		return true, nil
	}
	return room.memory && (e.lender.back != room.back || e.lender.hasRelease()), nil
}

// Consumed returns the position up to which the peer is known to have consumed entries.
func (e *Endpoint) Consumed() uint64 { return e.producer.consumed }

// Drain reads the session socket: it drops doorbells, keeps segments, and records the peer's end.
func (e *Endpoint) Drain() error {
	e.announced = 0
	return e.doorbell.empty()
}

// maxAnnounced is the number of announcements after which the socket must be read: each may cause a
// byte, and the peer's socket has room for 64.
const maxAnnounced = 32

// IsRungOut returns true if the socket must be read before the next announcement.
func (e *Endpoint) IsRungOut() bool { return e.announced+e.doorbell.peeked >= maxAnnounced }

// IsClosed returns true once the peer's end of file was seen. Entries committed before are still
// taken.
func (e *Endpoint) IsClosed() bool { return e.doorbell.closed }

// Close unmaps everything without a lease. The caller owns the socket.
func (e *Endpoint) Close() {
	e.releaser.close()
	e.lender.close()
	e.borrower.close()
	e.doorbell.close()
	e.own.Drop()
	e.peer.Drop()
}
