package shm

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// An ownSegment is a payload segment of this side.
type ownSegment struct {
	number  uint32
	mapping *segment.Mapping
	free    *space
	// used is true if space was taken since the last window began. quiet counts the consecutive
	// windows without use.
	used  bool
	quiet int
}

// A Loan is space taken for one payload, with its lend number. The payload may be shorter than the
// space.
type Loan struct {
	segment *ownSegment
	offset  int
	length  int
	taken   int
	lend    uint16
}

// Truncate keeps the first n bytes. The rest of the space is freed together with them.
func (l *Loan) Truncate(n int) { l.length = min(l.length, n) }

// Len returns the length in bytes.
func (l *Loan) Len() int { return l.length }

// Taken returns the number of bytes of memory that the loan takes.
func (l *Loan) Taken() int { return rounded(l.taken) }

// CopyIn copies bytes into the loan. The peer can read them immediately.
func (l *Loan) CopyIn(at int, bytes []byte) {
	if at < 0 || at > l.length-len(bytes) {
		panic("a write outside of reserved space")
	}
	l.segment.mapping.CopyIn(l.offset+at, bytes)
}

// Space returns the memory of the loan, for as long as the caller holds it. The peer can read at
// once what is written there.
func (l *Loan) Space() []byte { return l.segment.mapping.Own(l.offset, l.length) }

// CopyOut copies the beginning of the loan, which this side has filled.
func (l *Loan) CopyOut(to []byte) {
	l.segment.mapping.CopyOut(to[:min(len(to), l.length)], l.offset)
}

func (l *Loan) descriptor() proto.Descriptor {
	return proto.Descriptor{Segment: l.segment.number, Lend: uint32(l.lend),
		Offset: uint64(l.offset), Length: uint64(l.length)}
}

// A lender manages this side's payload segments, the smallest first, and the lends in them. All
// state but the payload is private memory: the peer's release bits affect only which parts of its
// own segments this side writes again.
type lender struct {
	own, peer  *segment.Mapping
	segments   []*ownSegment
	nextNumber uint32
	first, cap int
	total      int
	taken      int
	// free holds the free lend numbers, the last used one last. loans holds the lends by number,
	// and lent the same as bits. seen holds the peer's bits when they were last collected.
	free  []uint16
	loans []Loan
	lent  []uint64
	seen  []uint64
	// back counts released payloads. wait numbers this side's waits for a release.
	back, wait uint64
	announced  bool
	// leaving counts the bytes of retired segments that the peer may still have mapped, until it
	// has consumed the entries up to leavingUntil.
	leaving      int
	leavingUntil uint64
	windowBegan  time.Time
	window       time.Duration
}

func newLender(own, peer *segment.Mapping, lends uint32, limits Limits) *lender {
	l := &lender{own: own, peer: peer, cap: limits.Cap, window: limits.ShrinkAfter}
	l.first = min(int(proto.RoundUp(uint64(limits.FirstSegment))), l.cap)
	l.loans = make([]Loan, lends)
	l.lent, l.seen = make([]uint64, lends/64), make([]uint64, lends/64)
	for number := int(lends) - 1; number >= 0; number-- {
		l.free = append(l.free, uint16(number))
	}
	return l
}

// take takes space for n bytes and a lend number. It returns false if either is missing.
func (l *lender) take(n int) (Loan, bool) {
	if len(l.free) == 0 {
		return Loan{}, false
	}
	for _, s := range l.segments {
		if offset, found := s.free.take(n); found {
			s.used = true
			l.taken += rounded(n)
			lend := l.free[len(l.free)-1]
			l.free = l.free[:len(l.free)-1]
			return Loan{s, offset, n, n, lend}, true
		}
	}
	return Loan{}, false
}

// giveBack frees a loan that is not lent.
func (l *lender) giveBack(loan Loan) {
	loan.segment.free.giveBack(loan.offset, loan.taken)
	l.taken -= rounded(loan.taken)
	l.free = append(l.free, loan.lend)
}

// lend records a loan before its descriptor is published.
func (l *lender) lend(loan Loan) {
	l.loans[loan.lend] = loan
	l.lent[loan.lend/64] |= 1 << (loan.lend % 64)
}

func (l *lender) takeBack(number uint16) {
	l.lent[number/64] &^= 1 << (number % 64)
	loan := l.loans[number]
	l.loans[number] = Loan{}
	l.giveBack(loan)
	l.back++
}

// released takes back a lend number that the peer has released in an entry.
func (l *lender) released(number uint16) error {
	if int(number) >= len(l.loans) || l.lent[number/64]>>(number%64)&1 == 0 {
		return fmt.Errorf("lend number %d was released but is not lent", number)
	}
	l.takeBack(number)
	return nil
}

func (l *lender) flipped(word int) uint64 {
	if l.lent[word] == 0 {
		return 0
	}
	return (l.peer.Load(proto.ReleasedAt+8*word) ^ l.seen[word]) & l.lent[word]
}

// collect takes back each lend number with a bit that the peer has flipped.
func (l *lender) collect() {
	for word := range l.lent {
		for released := l.flipped(word); released != 0; released &= released - 1 {
			bit := bits.TrailingZeros64(released)
			l.seen[word] ^= 1 << bit
			l.takeBack(uint16(64*word + bit))
		}
	}
}

// hasRelease returns true if the peer has flipped a bit that was not collected.
func (l *lender) hasRelease() bool {
	for word := range l.lent {
		if l.flipped(word) != 0 {
			return true
		}
	}
	return false
}

// arm announces that this side sleeps until a release. The caller then checks once more.
func (l *lender) arm() {
	l.wait++
	l.own.Store(proto.ReleaseWakeAt, l.wait)
	l.announced = true
}

// disarm withdraws the announcement.
func (l *lender) disarm() {
	if l.announced {
		l.announced = false
		l.own.Store(proto.ReleaseWakeAt, 0)
	}
}

// canMakeRoom returns true if n bytes fit once all free segments are retired.
func (l *lender) canMakeRoom(n int) bool {
	room := l.cap - l.total
	for _, s := range l.segments {
		if s.free.isWhole() {
			room += s.free.size
		}
	}
	return rounded(n) <= room
}

// growth returns the size of a new segment for n bytes, with spare room if the cap allows it. It
// returns 0 if the cap leaves no room.
func (l *lender) growth(n int) int {
	needed := int(proto.RoundUp(uint64(rounded(n))))
	left := l.cap - l.total
	if needed > left || len(l.segments) == proto.MaxSegments {
		return 0
	}
	return min(max(l.first, 2*(int(proto.RoundUp(uint64(l.taken)))+needed)), left)
}

func (l *lender) add(mapping *segment.Mapping) {
	added := &ownSegment{l.nextNumber, mapping, newSpace(mapping.Size()), true, 0}
	at := 0
	for at < len(l.segments) && l.segments[at].free.size <= added.free.size {
		at++
	}
	l.segments = slices.Insert(l.segments, at, added)
	l.nextNumber++
	l.total += mapping.Size()
}

// mayRetire returns true if the retired segments that the peer may still have mapped stay within
// the cap when s joins them.
func (l *lender) mayRetire(s *ownSegment, consumed uint64) bool {
	if consumed >= l.leavingUntil {
		l.leaving = 0
	}
	return s.free.isWhole() && l.leaving+s.free.size <= l.cap
}

// retire drops a free segment. The entry before position announces that to the peer.
func (l *lender) retire(s *ownSegment, position uint64) {
	l.segments = slices.DeleteFunc(l.segments, func(other *ownSegment) bool { return other == s })
	l.total -= s.free.size
	l.leaving += s.free.size
	l.leavingUntil = position
	s.mapping.Drop()
}

// age ends a window if it is over. It returns a segment that traffic has not needed for a while, or
// nil. The largest free segment is kept longer, and one of the first size stays.
func (l *lender) age(now time.Time) *ownSegment {
	if now.Sub(l.windowBegan) >= l.window {
		l.windowBegan = now
		for _, s := range l.segments {
			if s.quiet++; s.used || !s.free.isWhole() {
				s.quiet = 0
			}
			s.used = false
		}
	}
	const patience, sparePatience = 2, 10
	needed := sparePatience
	for i := len(l.segments) - 1; i >= 0; i-- {
		s := l.segments[i]
		if !s.free.isWhole() || i == 0 && s.free.size <= l.first {
			continue
		}
		if s.quiet >= needed {
			return s
		}
		needed = patience
	}
	return nil
}

func (l *lender) close() {
	for _, s := range l.segments {
		s.mapping.Drop()
	}
	l.segments = nil
}
