package shm

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

type foreignSegment struct {
	number  uint32
	mapping *segment.Mapping
}

// A borrower manages the peer's payload segments, which are mapped read-only.
type borrower struct {
	segments   []foreignSegment
	nextNumber uint32
	total, cap uint64
	longest    uint64 // message
	lends      uint32
}

func (b *borrower) find(number uint32) int {
	return slices.IndexFunc(b.segments, func(s foreignSegment) bool { return s.number == number })
}

// checkAdd validates a segment add entry.
func (b *borrower) checkAdd(number uint32, size uint64) error {
	switch {
	case number != b.nextNumber:
		return fmt.Errorf("segment entry names number %d, expected %d", number, b.nextNumber)
	case len(b.segments) == proto.MaxSegments:
		return fmt.Errorf("more than %d payload segments at the same time", proto.MaxSegments)
	case size > b.cap-b.total:
		return fmt.Errorf("a segment of %d bytes takes the sum over the agreed cap of %d bytes",
			size,
			b.cap)
	}
	return nil
}

func (b *borrower) add(mapping *segment.Mapping) {
	b.segments = append(b.segments, foreignSegment{b.nextNumber, mapping})
	b.nextNumber++
	b.total += uint64(mapping.Size())
}

// retire unmaps the segment that a segment retire entry names. Leases count as holders of the
// mapping, and each is dropped before its number is released. A remaining holder therefore means a
// violation.
func (b *borrower) retire(number uint32) error {
	at := b.find(number)
	if at < 0 {
		return fmt.Errorf("segment %d was retired, which is not mapped", number)
	}
	mapping := b.segments[at].mapping
	if mapping.Holders() > 1 {
		return fmt.Errorf("segment %d was retired, but payload in it is lent and not released",
			number)
	}
	b.total -= uint64(mapping.Size())
	b.segments = slices.Delete(b.segments, at, at+1)
	mapping.Drop()
	return nil
}

// borrow validates the descriptor in an entry and returns a lease of its payload.
func (b *borrower) borrow(entry *proto.Entry, releaser *Releaser) (Lease, error) {
	descriptor, err := proto.DecodeDescriptor(entry.Bytes())
	if err != nil {
		return Lease{}, err
	}
	at := b.find(descriptor.Segment)
	if at < 0 {
		return Lease{}, fmt.Errorf("descriptor names segment %d, which is not mapped",
			descriptor.Segment)
	}
	mapping := b.segments[at].mapping
	if err := descriptor.Check(uint64(mapping.Size()), b.lends); err != nil {
		return Lease{}, err
	}
	if descriptor.Length > b.longest {
		return Lease{}, fmt.Errorf("descriptor names %d bytes; the hellos agree on %d at most",
			descriptor.Length, b.longest)
	}
	mapping.Hold()
	return Lease{mapping, releaser, int(descriptor.Offset), int(descriptor.Length),
		uint16(descriptor.Lend)}, nil
}

func (b *borrower) close() {
	for _, s := range b.segments {
		s.mapping.Drop()
	}
	b.segments = nil
}

// A Lease is a payload of the peer that the peer does not write again before the lease ends,
// provided that it keeps the rules. A lease is ended once, by any goroutine, during the session or
// after it.
type Lease struct {
	mapping  *segment.Mapping
	releaser *Releaser
	offset   int
	length   int
	lend     uint16
}

// Len returns the length in bytes.
func (l *Lease) Len() int { return l.length }

// CopyOut copies bytes out of the payload.
func (l *Lease) CopyOut(to []byte, at int) {
	if at < 0 || at > l.length-len(to) {
		panic("a read outside of a lent message")
	}
	l.mapping.CopyOut(to, l.offset+at)
}

// Pin returns a slice of the payload, whose segment stays mapped from now on. It returns false if
// such segments would take more than limit bytes.
func (l *Lease) Pin(at, length int, limit uint64) ([]byte, bool) {
	if at < 0 || length < 0 || at > l.length-length {
		panic("a slice outside of a lent message")
	}
	return l.mapping.Pin(l.offset+at, length, limit)
}

// End releases the payload.
func (l *Lease) End() {
	// The order matters: once the peer sees the release it may retire the segment, in which no
	// lease may then remain.
	l.mapping.Drop()
	l.releaser.release(l.lend)
	*l = Lease{}
}

// A Releaser releases payloads, on any goroutine.
type Releaser struct {
	own, peer *segment.Mapping
	ring      func()
	// rung is the number of the last wait of the peer that the doorbell was rung for.
	rung atomic.Uint64
	// closing is read-locked while the control segments are used. They are unmapped after closed is
	// set.
	closing sync.RWMutex
	closed  bool
}

func (r *Releaser) release(lend uint16) {
	r.closing.RLock()
	defer r.closing.RUnlock()
	if r.closed {
		return
	}
	r.own.Flip(proto.ReleasedAt+8*int(lend/64), 1<<(lend%64))
	// The flip is sequentially consistent, so this is loaded after it.
	if wait := r.peer.Load(proto.ReleaseWakeAt); wait != 0 && r.rung.Swap(wait) != wait {
		r.ring()
	}
}

func (r *Releaser) close() {
	r.closing.Lock()
	r.closed = true
	r.closing.Unlock()
}
