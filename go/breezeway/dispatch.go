package breezeway

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// dispatch has the rules validate the entry in s.in, and passes it to its recipient.
func (s *session) dispatch() error {
	head, m, event := &s.in.entry.Head, &s.in.message, &s.in.event
	prefix, hasPrefix := uint64(0), head.HasPrefix()
	if hasPrefix {
		prefix = m.prefix()
	}
	if err := s.rules.Receive(head, m.length, prefix, event); err != nil {
		m.Release()
		return violation(err)
	}
	if hasPrefix && head.Kind == proto.KindMessage {
		m.splitMetadata(event.Metadata)
	}
	switch event.Change {
	case proto.Ignored:
	case proto.Requested:
		s.arrive(head, m, nil)
	case proto.Answered:
		s.answer(event.Caller, head, m)
	case proto.AnsweredLate:
		m.Release()
		s.callEnded()
	case proto.Cancelled:
		s.cancelCall(head.Stream)
	case proto.SentAway:
		s.wakeBeginners()
	case proto.Closed:
		return ErrPeerClosed
	case proto.OneWayRoom:
		wake(&s.posters, false)
	default:
		s.streamChanged(&event.StreamEvent, head, m)
	}
	return nil
}

// arrive queues an arrival: a message, or a stream.
func (s *session) arrive(head *proto.Head, m *Message, stream *Stream) {
	if s.arrivalFirst == len(s.arrivals) {
		s.arrivals, s.arrivalFirst = s.arrivals[:0], 0
	}
	if s.arrivalFirst > 0 && len(s.arrivals) == cap(s.arrivals) {
		left := copy(s.arrivals, s.arrivals[s.arrivalFirst:])
		clear(s.arrivals[left:])
		s.arrivals, s.arrivalFirst = s.arrivals[:left], 0
	}
	if last := len(s.arrivals); last < cap(s.arrivals) {
		s.arrivals = s.arrivals[:last+1]
	} else {
		s.arrivals = append(s.arrivals, arrival{})
	}
	a := &s.arrivals[len(s.arrivals)-1]
	a.head, a.stream, a.deadline, a.cancelled = *head, stream, time.Time{}, false
	if head.Time != 0 {
		a.deadline = deadlineOf(head.Time)
	}
	s.waiting++
	s.streamMessages = 0
	if stream != nil {
		stream.deadline = a.deadline
		s.dropAStreamThatIsOver()
	} else {
		a.message = *m
	}
	wake(&s.acceptWaiters, false)
}

// dropAStreamThatIsOver drops a stream that is over and was not accepted, if more streams wait than
// may be open at the same time. This bounds the queue of an application that accepts none.
func (s *session) dropAStreamThatIsOver() {
	if !s.rules.DropsStream() {
		return
	}
	waiting := s.arrivals[s.arrivalFirst:]
	at := slices.IndexFunc(waiting, func(a arrival) bool {
		return a.stream != nil && a.stream.state.IsOver()
	})
	if at < 0 {
		return
	}
	waiting[at].stream.drop()
	s.rules.Streams.Forget(waiting[at].stream.state)
	at += s.arrivalFirst
	s.arrivals = slices.Delete(s.arrivals, at, at+1)
	s.waiting--
	s.rules.TakeUpStream()
}

// nextArrival removes the next arrival. There must be one.
func (s *session) nextArrival(a *arrival) {
	kept := &s.arrivals[s.arrivalFirst]
	*a = *kept
	// Clear the references of the queue.
	kept.stream = nil
	kept.message.private, kept.message.metadata, kept.message.lent = nil, nil, nil
	s.arrivalFirst++
	s.waiting--
	if a.stream != nil {
		s.rules.TakeUpStream()
	} else if s.rules.TakeUp(&a.head, a.message.length) {
		s.settle()
	}
	s.ended()
}

func (s *session) hasArrival() bool { return s.arrivalFirst < len(s.arrivals) }

func (s *session) mayTakeUp() bool { return s.hasArrival() && !s.rules.Served.HasStopped() }

// printable makes the peer's text fit for a log.
func printable(bytes []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != '\n' {
			return unicode.ReplacementChar
		}
		return r
	}, string(bytes))
}

// deadlineOf returns the deadline in an entry that has just arrived, or zero if it has none.
func deadlineOf(coded uint16) time.Time {
	left, said := proto.DecodeTime(coded)
	if !said {
		return time.Time{}
	}
	return time.Now().Add(left)
}

// newStream returns a new stream and counts it as open.
func (s *session) newStream(method uint32) *Stream {
	s.openStreams++
	return &Stream{session: s, method: method}
}

// streamOver releases a stream that is over. Its number may be reused.
func (s *session) streamOver(stream *Stream) {
	stream.over()
	s.openStreams--
	s.ended()
	if s.rules.Streams.IsOurs(stream.state.Number()) {
		wakeNext(s.openers)
	}
}

// endStreams wakes all waiters for streams, because the session has ended.
func (s *session) endStreams() {
	s.rules.Streams.Each(func(stream *Stream) {
		stream.wakeAll()
		stream.over()
	})
	wake(&s.openers, true)
}

// streamChanged applies an entry that concerns a stream.
func (s *session) streamChanged(event *streamEvent, head *proto.Head, m *Message) {
	stream := event.Stream.Owner
	switch event.Change {
	case proto.StreamRoom:
		wake(&stream.writers, false)
	case proto.WasReset:
		if event.Drops {
			stream.drop()
		}
		stream.endContext()
		stream.wakeAll()
	case proto.Opened:
		stream = s.newStream(head.Tag)
		stream.state, event.Stream.Owner = event.Stream, stream
		fallthrough
	default:
		stream.receive(event, head.Flags, m)
	}
	if event.Over {
		s.streamOver(stream)
	}
	if event.Change == proto.Opened {
		s.arrive(head, nil, stream)
	}
}

// receive queues a message and wakes the stream's readers.
func (t *Stream) receive(event *streamEvent, flags proto.Flags, m *Message) {
	if event.First {
		t.hasFirst, t.firstIsLast = true, flags.Has(proto.FlagFin)
	}
	if m.hasMetadata && event.First {
		t.openMetadata, t.hasOpenMetadata = m.metadata, true
	}
	if m.hasMetadata && flags.Has(proto.FlagFin) {
		t.lastMetadata = m.metadata
	}
	if event.Change == proto.Dropped || event.Drops || flags.Has(proto.FlagEmpty) {
		m.Release()
	} else {
		t.queue.add(m)
	}
	if event.Change == proto.Dropped {
		return
	}
	s := t.session
	s.streamMessages++
	for _, w := range t.readers {
		s.resumed = s.resumed || w.asleep
		w.wake()
	}
}
