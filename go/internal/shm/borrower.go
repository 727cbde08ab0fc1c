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

// borrower keeps the peer's payload segments, mapped read-only.
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

// checkAdd judges what a segment add entry says.
func (b *borrower) checkAdd(number uint32, size uint64) error {
	switch {
	case number != b.nextNumber:
		return fmt.Errorf("segment entry names number %d, expected %d", number, b.nextNumber)
	case len(b.segments) == proto.MaxSegments:
		return fmt.Errorf("more than %d payload segments at one time", proto.MaxSegments)
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

// retire unmaps what a segment retire entry names. Leases are counted as holders of the mapping,
// and each lets go before its number is released: so one that still holds shows a broken rule.
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

// borrow judges the descriptor of an entry, and takes a lease of what it names.
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

// A Lease is a payload of the peer's that it does not write again before the lease ends, if it
// keeps to the rules. It is ended once, on any goroutine, during the session or after it.
type Lease struct {
	mapping  *segment.Mapping
	releaser *Releaser
	offset   int
	length   int
	lend     uint16
}

// Len is its length in bytes.
func (l *Lease) Len() int { return l.length }

// CopyOut copies from it.
func (l *Lease) CopyOut(to []byte, at int) {
	if at < 0 || at > l.length-len(to) {
		panic("a read outside of a lent message")
	}
	l.mapping.CopyOut(to, l.offset+at)
}

// Pin gives a slice of it, whose segment is never unmapped from now on; false if segments that are
// so would take more than limit bytes.
func (l *Lease) Pin(at, length int, limit uint64) ([]byte, bool) {
	if at < 0 || length < 0 || at > l.length-length {
		panic("a slice outside of a lent message")
	}
	return l.mapping.Pin(l.offset+at, length, limit)
}

// End says that it is no longer read.
func (l *Lease) End() {
	// In this order: once the peer sees the release it may retire the segment, which is to find no
	// lease in it.
	l.mapping.Drop()
	l.releaser.release(l.lend)
	*l = Lease{}
}

// A Releaser says, on any goroutine, which payloads are no longer read.
type Releaser struct {
	own, peer *segment.Mapping
	ring      func()
	// rung is the wait of the peer that was last rung for.
	rung atomic.Uint64
	// closing is held for reading by who uses the control segments, which go when closed is set.
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
