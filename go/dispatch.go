package breezeway

import (
	"slices"
	"strings"
	"unicode"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// dispatch judges the entry in s.in, and gives it to whom it concerns.
func (s *session) dispatch() error {
	head, m := &s.in.entry.Head, &s.in.message
	switch head.Kind {
	case proto.KindReset, proto.KindCancel, proto.KindGoAway, proto.KindShutdown:
		if m.length != 0 {
			return violated("an entry of kind %d with a body of %d bytes", head.Kind, m.length)
		}
	}
	switch head.Kind {
	case proto.KindMessage:
		if err := s.message(head, m); err != nil {
			m.Release()
			return err
		}
		return nil
	case proto.KindWindow:
		var body [8]byte
		if m.length != len(body) {
			return violated("a window of %d bytes", m.length)
		}
		if err := m.copyOut(body[:], 0); err != nil {
			return err
		}
		return s.receiveWindow(head, body)
	case proto.KindReset:
		return s.receiveReset(head)
	case proto.KindCancel:
		if s.isClient {
			return violated("a cancel from a server")
		}
		if call := s.serving[head.Stream]; call != nil {
			call.cancel(&CallError{Code: CodeCancelled})
		}
	case proto.KindGoAway:
		if !s.isClient {
			return violated("a go-away from a client")
		}
		if s.goaway {
			return violated("a second go-away")
		}
		s.goaway = true
	case proto.KindShutdown:
		return ErrPeerClosed
	default:
		return violated("an unexpected entry of kind %d", head.Kind)
	}
	return nil
}

func (s *session) message(head *proto.Head, m *Message) error {
	flags := head.Flags
	if flags.Has(proto.FlagEmpty|proto.FlagLent) && !flags.Has(proto.FlagMetadata) {
		return violated("flags %#02x lend nothing", flags)
	}
	if flags.Has(proto.FlagOpen) && s.streams.Uses(head.Stream) {
		return inUse(head.Stream)
	}
	if flags.Has(proto.FlagMetadata) {
		if err := m.splitMetadata(int(s.ownHello.MaxMetadata)); err != nil {
			return err
		}
	}
	isOpening := flags.Has(proto.FlagOpen)
	if isOpening && !flags.Has(proto.FlagStream) && !s.isClient {
		return s.request(head, m)
	}
	if !isOpening && s.isClient && s.calls.Awaits(head.Stream) {
		return s.answer(head, m)
	}
	if flags&(proto.FlagError|proto.FlagNoReply) != 0 || flags.Has(proto.FlagStream) != isOpening {
		return violated("flags %#02x do not belong together here", flags)
	}
	return s.streamMessage(head, m)
}

func inUse(number uint32) error {
	return violated("a message opens number %d, which is in use", number)
}

// request takes in a call, or a one-way message.
func (s *session) request(head *proto.Head, m *Message) error {
	const may = proto.FlagLent | proto.FlagNoReply | proto.FlagMetadata
	if head.Flags&^may != proto.RequestFlags {
		return violated("a message with flags %#02x is no request", head.Flags)
	}
	if head.Stream%2 == 0 {
		return violated("a request on stream %d; clients use odd numbers", head.Stream)
	}
	if head.Flags.Has(proto.FlagNoReply) {
		if err := s.streams.Posting(m.length); err != nil {
			return violation(err)
		}
		s.oneWay++
		s.oneWayBytes += m.length
	} else {
		s.callsArrived++
		s.callBytes += m.length
		if s.callsArrived > s.maxInFlight {
			return violated("more calls in flight than the agreed %d", s.maxInFlight)
		}
	}
	s.arrive(head, m, nil)
	return nil
}

// arrive keeps what has come: a message, or a stream.
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
	a.head, a.stream = *head, stream
	s.waiting++
	s.streamMessages = 0
	if stream != nil {
		s.streamsArrived++
		s.dropAStreamThatIsOver()
	} else {
		a.message = *m
	}
	wake(&s.acceptWaiters, false)
}

// dropAStreamThatIsOver drops one that waits to be accepted, of more streams than may be open at
// one time: nobody is to keep them all for somebody who accepts none.
func (s *session) dropAStreamThatIsOver() {
	if s.streamsArrived <= int(s.ownHello.MaxStreams) {
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
	s.streams.Forget(waiting[at].stream.state)
	at += s.arrivalFirst
	s.arrivals = slices.Delete(s.arrivals, at, at+1)
	s.waiting--
	s.streamsArrived--
}

// nextArrival takes the next one; there is one.
func (s *session) nextArrival(a *arrival) {
	kept := &s.arrivals[s.arrivalFirst]
	*a = *kept
	// What it refers to is not kept any longer.
	kept.stream = nil
	kept.message.private, kept.message.metadata, kept.message.lent = nil, nil, nil
	s.arrivalFirst++
	s.waiting--
	switch {
	case a.stream != nil:
		s.streamsArrived--
	case a.head.Flags.Has(proto.FlagNoReply):
		s.oneWay--
		s.oneWayBytes -= a.message.length
		s.takenUp(a.message.length)
	default:
		s.callBytes -= a.message.length
		s.callsTaken++
	}
	s.ended()
}

func (s *session) hasArrival() bool { return s.arrivalFirst < len(s.arrivals) }

func (s *session) mayTakeUp() bool { return s.hasArrival() && !s.closing }

// printable makes what the other side said fit for a log.
func printable(bytes []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != '\n' {
			return unicode.ReplacementChar
		}
		return r
	}, string(bytes))
}
