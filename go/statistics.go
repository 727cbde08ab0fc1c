package breezeway

import (
	"math/bits"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/internal/abi"
)

// A Statistic is a sum over this process's sessions of one role. Names are those of the Rust crates
// (docs/watching.md); those that end with _total only grow.
type Statistic struct {
	Name  string
	Role  string // "client" or "server"
	Value uint64
}

// A class is what entries are counted as.
type class int

const (
	aCall class = iota
	aPost
	aStream
	aMessage
	anEnd
	anError
	aControl
	classCount
)

var classNames = [classCount]string{"calls", "posts", "streams", "messages", "ends", "errors",
	"controls"}

func classOf(head abi.Head) class {
	flags := head.Flags
	switch {
	case head.Kind == abi.KindReset:
		return anError
	case head.Kind != abi.KindMessage:
		return aControl
	case flags.Has(abi.FlagOpen | abi.FlagStream):
		return aStream
	case flags.Has(abi.FlagOpen | abi.FlagNoReply):
		return aPost
	case flags.Has(abi.FlagOpen):
		return aCall
	case flags.Has(abi.FlagError):
		return anError
	case flags.Has(abi.FlagFin):
		return anEnd
	}
	return aMessage
}

// traffic counts entries of one direction, and the bytes of their bodies.
type traffic struct {
	entries [classCount]uint64
	bytes   uint64
}

func (t *traffic) count(head abi.Head, length int) {
	t.entries[classOf(head)]++
	t.bytes += uint64(length)
}

func (t *traffic) add(other *traffic) {
	for class, count := range other.entries {
		t.entries[class] += count
	}
	t.bytes += other.bytes
}

// sums are what is summed up of sessions.
type sums struct {
	live, opened                        uint64
	sent, received                      traffic
	slept, doorbells, ringFull          uint64
	noMemory, ownMemory, peerMemory     uint64
	lends, unwritten, streams, arrivals uint64
}

// everySession is what Statistics reads: the sessions that live, and sums of those that do not, by
// role.
var everySession struct {
	mu    sync.Mutex
	live  map[*session]struct{}
	ended [2]sums
}

func (s *session) role() int {
	if s.isClient {
		return 0
	}
	return 1
}

// enroll has a new session counted.
func (s *session) enroll() {
	every := &everySession
	every.mu.Lock()
	defer every.mu.Unlock()
	if every.live == nil {
		every.live = map[*session]struct{}{}
	}
	every.live[s] = struct{}{}
	every.ended[s.role()].opened++
}

// retire keeps the sums of a session that is over. The session's lock is held.
func (s *session) retire() {
	every := &everySession
	every.mu.Lock()
	defer every.mu.Unlock()
	if _, lives := every.live[s]; !lives {
		return
	}
	delete(every.live, s)
	s.addCounts(&every.ended[s.role()])
}

// addCounts adds what only grows.
func (s *session) addCounts(to *sums) {
	sent := s.sent
	counters := s.link.counters()
	if s.memory != nil { // Entries about segments are not sent by the session.
		others := uint64(0)
		for _, count := range sent.entries[:aControl] {
			others += count
		}
		sent.entries[aControl] = counters.EntriesPublished - min(others, counters.EntriesPublished)
	}
	to.sent.add(&sent)
	to.received.add(&s.received)
	to.slept += counters.Sleeps
	to.doorbells += counters.DoorbellsRung
	to.ringFull += counters.RingFull
	to.noMemory += counters.NoMemory
}

// addState adds what a live session has now.
func (s *session) addState(to *sums) {
	to.live++
	to.streams += uint64(len(s.streams.byNumber))
	to.arrivals += uint64(len(s.arrivals) - s.arrivalFirst)
	if s.socket != nil {
		to.unwritten += uint64(len(s.socket.out) - s.socket.sent)
		return
	}
	own, peer, lent := s.memory.end.Memory()
	to.ownMemory += own
	to.peerMemory += peer
	for _, word := range lent {
		to.lends += uint64(bits.OnesCount64(word))
	}
}

// Statistics gives the sums of all sessions of this process. It takes each session's lock for a
// moment. The package metrics publishes them.
func Statistics() []Statistic {
	every := &everySession
	every.mu.Lock()
	all, list := every.ended, make([]*session, 0, len(every.live))
	for s := range every.live {
		list = append(list, s)
	}
	every.mu.Unlock()
	for _, s := range list {
		s.mu.Lock()
		s.addCounts(&all[s.role()])
		if s.err == nil {
			s.addState(&all[s.role()])
		}
		s.mu.Unlock()
	}
	return append(all[0].list("client"), all[1].list("server")...)
}

func (s *sums) list(role string) []Statistic {
	list := []Statistic{{"breezeway_sessions", role, s.live},
		{"breezeway_sessions_opened_total", role, s.opened}}
	for class, name := range classNames {
		list = append(list,
			Statistic{"breezeway_" + name + "_sent_total", role, s.sent.entries[class]},
			Statistic{"breezeway_" + name + "_received_total", role, s.received.entries[class]})
	}
	return append(list, []Statistic{
		{"breezeway_bytes_sent_total", role, s.sent.bytes},
		{"breezeway_bytes_received_total", role, s.received.bytes},
		{"breezeway_slept_total", role, s.slept},
		{"breezeway_doorbells_total", role, s.doorbells},
		{"breezeway_ring_full_total", role, s.ringFull},
		{"breezeway_no_memory_total", role, s.noMemory},
		{"breezeway_own_memory_bytes", role, s.ownMemory},
		{"breezeway_peer_memory_bytes", role, s.peerMemory},
		{"breezeway_lends", role, s.lends},
		{"breezeway_unwritten_bytes", role, s.unwritten},
		{"breezeway_streams", role, s.streams},
		{"breezeway_arrivals", role, s.arrivals},
	}...)
}
