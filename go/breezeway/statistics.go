package breezeway

import (
	"sync"
	"sync/atomic"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A Statistic is a sum over this process's sessions of one role, or the number of clients that were
// refused for one reason. Names are those of the Rust crates (docs/metrics.md). Statistics whose
// names end with _total only grow.
type Statistic struct {
	Name   string
	Role   string // "client" or "server"
	Reason string // for refused clients, instead of a role
	Value  uint64
}

// A class is a category of counted entries.
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

// classOfMessage maps the flags of a message to its class.
var classOfMessage = func() (classes [256]class) {
	for flags := range classes {
		classes[flags] = messageClass(proto.Flags(flags))
	}
	return classes
}()

func messageClass(flags proto.Flags) class {
	switch {
	case flags.Has(proto.FlagOpen | proto.FlagStream):
		return aStream
	case flags.Has(proto.FlagOpen | proto.FlagNoReply):
		return aPost
	case flags.Has(proto.FlagOpen):
		return aCall
	case flags.Has(proto.FlagError):
		return anError
	case flags.Has(proto.FlagFin):
		return anEnd
	}
	return aMessage
}

// traffic counts the entries of one direction and the bytes of their bodies.
type traffic struct {
	entries [classCount]uint64
	bytes   uint64
}

func (t *traffic) count(kind proto.Kind, flags proto.Flags, length int) {
	switch kind {
	case proto.KindMessage:
		t.entries[classOfMessage[flags]]++
	case proto.KindReset:
		t.entries[anError]++
	default:
		t.entries[aControl]++
	}
	t.bytes += uint64(length)
}

func (t *traffic) add(other *traffic) {
	for class, count := range other.entries {
		t.entries[class] += count
	}
	t.bytes += other.bytes
}

// sums holds totals over sessions.
type sums struct {
	live, opened                        uint64
	sent, received                      traffic
	slept, doorbells, ringFull          uint64
	noMemory, ownMemory, peerMemory     uint64
	lends, unwritten, streams, arrivals uint64
	spun, polled, lentBytes             uint64
}

// pushedOut counts the clients that were disconnected with an incomplete hello, because there were
// too many of them.
var pushedOut atomic.Uint64

// everySession holds the ledgers of live sessions, and the sums of ended ones by role.
var everySession struct {
	mu    sync.Mutex
	live  map[*ledger]struct{}
	ended [2]sums
}

func role(isClient bool) int {
	if isClient {
		return 0
	}
	return 1
}

// addCounts adds the counters, which only grow.
func (s *sums) addCounts(of *record) {
	s.sent.add(&of.sent)
	s.received.add(&of.received)
	s.slept += of.slept
	s.spun += of.spun
	s.polled += of.spinTime
	s.doorbells += of.doorbells
	s.ringFull += of.ringFull
	s.noMemory += of.noMemory
}

// addState adds the present state of a live session.
func (s *sums) addState(of *record) {
	s.live++
	s.streams += of.streams
	s.arrivals += of.arrivals
	s.unwritten += of.unwritten
	s.ownMemory += of.ownMemory
	s.peerMemory += of.peerMemory
	s.lentBytes += of.lent
	s.lends += of.lends
}

// Statistics returns the sums over all sessions of this process. It briefly takes each session's
// lock. The package metrics publishes them.
func Statistics() []Statistic {
	every := &everySession
	every.mu.Lock()
	all, list := every.ended, make([]*ledger, 0, len(every.live))
	for l := range every.live {
		list = append(list, l)
	}
	every.mu.Unlock()
	for _, l := range list {
		l.mu.Lock()
		l.publish()
		all[l.role].addCounts(l.record)
		if !l.over.Load() {
			all[l.role].addState(l.record)
		}
		l.mu.Unlock()
	}
	statistics := append(all[0].list("client"), all[1].list("server")...)
	return append(statistics, Statistic{Name: "breezeway_clients_refused_total",
		Reason: "pushed_out", Value: pushedOut.Load()})
}

func (s *sums) list(role string) []Statistic {
	list := make([]Statistic, 0, 2*len(classNames)+17)
	add := func(name string, value uint64) {
		list = append(list, Statistic{Name: "breezeway_" + name, Role: role, Value: value})
	}
	add("sessions", s.live)
	add("sessions_opened_total", s.opened)
	for class, name := range classNames {
		add(name+"_sent_total", s.sent.entries[class])
		add(name+"_received_total", s.received.entries[class])
	}
	add("bytes_sent_total", s.sent.bytes)
	add("bytes_received_total", s.received.bytes)
	add("spun_total", s.spun)
	add("slept_total", s.slept)
	add("spin_nanoseconds_total", s.polled)
	add("doorbells_total", s.doorbells)
	add("ring_full_total", s.ringFull)
	add("no_memory_total", s.noMemory)
	add("own_memory_bytes", s.ownMemory)
	add("peer_memory_bytes", s.peerMemory)
	add("lends", s.lends)
	add("lent_bytes", s.lentBytes)
	add("unwritten_bytes", s.unwritten)
	add("streams", s.streams)
	add("arrivals", s.arrivals)
	return list
}
