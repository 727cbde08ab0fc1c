package breezeway

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// A record holds the numbers of a session as tools read them (docs/abi.md, section 9).
type record struct {
	sequence, number, kind, peer, since, cap, rings, maxInFlight uint64

	sent, received                                       traffic
	spun, slept, spinTime, doorbells, ringFull, noMemory uint64
	waitsFor, waitsSince, published, consumed            uint64
	ownMemory, peerMemory, lends, lent                   uint64
	unwritten, streams, arrivals                         uint64
	ownControl, peerControl, timed                       uint64

	_ [20]uint64
}

// Values of waitsFor.
const (
	waitsForData = 1 + iota
	waitsForRoom
	waitsForMemory
)

// noRecord is the index of the record of a session that is not in the file.
const noRecord = -1

const (
	recordsAt    = 4096
	recordSize   = 512
	recordCount  = 4096
	timesAt      = recordsAt + recordCount*recordSize
	timesSize    = 1024
	recordsMagic = 0x54415453575a5242 // "BRZWSTAT"
)

// recordsHeader is the head of the file of records.
type recordsHeader struct {
	magic, version, recordSize, capacity, used, opened, unrecorded, since, timesAt, timesSize uint64
}

// records is the file of this process's records.
var records struct {
	mu      sync.Mutex
	mapping *segment.Mapping
	header  *recordsHeader
	taken   [recordCount / 64]uint64
	numbers uint64
}

// takeRecord moves the numbers of a session that begins to a record of the file, whose index it
// returns. The index is noRecord, and the numbers stay where they are, if there is no file or no
// free record.
func takeRecord(r *record) (*record, int) {
	records.mu.Lock()
	defer records.mu.Unlock()
	records.numbers++
	r.number = records.numbers
	if records.header == nil && !makeRecords() {
		return r, noRecord
	}
	header := records.header
	atomic.AddUint64(&header.opened, 1)
	atomic.StoreUint64(&header.magic, recordsMagic)
	for word, taken := range records.taken {
		if taken == ^uint64(0) {
			continue
		}
		index := 64*word + bits.TrailingZeros64(^taken)
		records.taken[word] |= 1 << (index % 64)
		if used := uint64(index) + 1; used > header.used {
			atomic.StoreUint64(&header.used, used)
		}
		published := segment.At[record](records.mapping, recordsAt+index*recordSize)
		sequence := published.sequence | 1
		atomic.StoreUint64(&published.sequence, sequence)
		r.sequence = sequence
		*published = *r
		atomic.StoreUint64(&published.sequence, sequence+1)
		return published, index
	}
	atomic.AddUint64(&header.unrecorded, 1)
	return r, noRecord
}

// makeRecords makes the file. The next session tries again if that fails.
func makeRecords() bool {
	mapping, err := segment.CreateStatistics(timesAt + recordCount*timesSize)
	if err != nil {
		return false
	}
	header := segment.At[recordsHeader](mapping, 0)
	*header = recordsHeader{version: 1, recordSize: recordSize, capacity: recordCount,
		since: sinceBoot(), timesAt: timesAt, timesSize: timesSize}
	records.mapping, records.header = mapping, header
	return true
}

// release frees the record with this index. It returns a copy of its numbers.
func (r *record) release(index int) *record {
	records.mu.Lock()
	defer records.mu.Unlock()
	private := *r
	atomic.AddUint64(&r.sequence, 1)
	records.taken[index/64] &^= 1 << (index % 64)
	return &private
}

// sinceBoot returns the time of CLOCK_BOOTTIME in nanoseconds.
func sinceBoot() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return uint64(now.Nano())
}

// describe fills in what stays as it is while the session lives.
func (r *record) describe(s *session) {
	carriers := [...]uint64{Shm: 1, Unix: 2, TCP: 3, TLS: 4}
	policies := [...]uint64{Busy: 1, Park: 2, Adaptive: 3}
	const isShared = 1 << 24
	r.kind = uint64(1+s.role) | carriers[s.link.carrier()]<<8 | policies[s.opts.wait]<<16 | isShared
	r.peer = 0xffff_ffff << 32
	if s.peer.Known {
		r.peer = uint64(s.peer.UID)<<32 | uint64(s.peer.PID)
	}
	r.since, r.cap = sinceBoot(), uint64(s.maxMessage)
	r.maxInFlight = uint64(s.rules.MaxInFlight())
	if s.memory != nil {
		r.rings = uint64(s.ownHello.RingCapacity) | uint64(s.peerHello.RingCapacity)<<32
		r.ownControl, r.peerControl = s.memory.end.Controls()
	}
}

// publish stores the numbers that are kept elsewhere. The session's lock is held.
func (l *ledger) publish() {
	r, counters := l.record, l.link.counters()
	r.slept, r.doorbells = counters.Sleeps, counters.DoorbellsRung
	r.ringFull, r.noMemory = counters.RingFull, counters.NoMemory
	r.streams, r.arrivals = uint64(l.openStreams), uint64(l.waiting)
	switch link := l.link.(type) {
	case *socketLink:
		r.unwritten = uint64(link.unwritten())
	case *memoryLink:
		// The session does not send entries about segments.
		r.published, r.consumed = counters.EntriesPublished, link.end.Consumed()
		others := uint64(0)
		for _, count := range r.sent.entries[:aControl] {
			others += count
		}
		r.sent.entries[aControl] = r.published - min(others, r.published)
		var lent []uint64
		r.ownMemory, r.peerMemory, lent = link.end.Memory()
		lends := uint64(0)
		for _, word := range lent {
			lends += uint64(bits.OnesCount64(word))
		}
		r.lent, r.lends = uint64(link.end.UnderWay()), lends
	}
}

// publishSleep publishes the numbers of a session that is about to sleep, and the object that it
// waits for.
func (s *session) publishSleep() {
	s.publish()
	r := s.record
	switch {
	case s.memoryWaits > 0:
		r.waitsFor = waitsForMemory
	case len(s.roomWaiters) > 0:
		r.waitsFor = waitsForRoom
	default:
		r.waitsFor = waitsForData
	}
	r.waitsSince = sinceBoot()
}
