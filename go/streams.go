package breezeway

import (
	"encoding/binary"
	"slices"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

type (
	streamState = proto.Stream[*Stream]
	streamEvent = proto.StreamEvent[*Stream]
	transmit    = proto.Transmit[*Stream]
)

// queue is what came on a stream and was not taken. One that was emptied keeps the room for a few.
type queue struct {
	messages []Message
	first    int
}

const keptRoom = 4

func (q *queue) len() int { return len(q.messages) - q.first }

func (q *queue) add(m *Message) {
	if q.first > 0 && len(q.messages) == cap(q.messages) {
		left := copy(q.messages, q.messages[q.first:])
		clear(q.messages[left:])
		q.messages, q.first = q.messages[:left], 0
	}
	q.messages = append(q.messages, *m)
}

// take takes the oldest one; there is one.
func (q *queue) take() Message {
	m := q.messages[q.first]
	q.messages[q.first] = Message{}
	q.first++
	if q.first == len(q.messages) {
		q.messages, q.first = q.messages[:0], 0
		if cap(q.messages) > keptRoom {
			q.messages = nil
		}
	}
	return m
}

// newStream begins to hold a stream, which is not over.
func (s *session) newStream(method uint32) *Stream {
	s.openStreams++
	return &Stream{session: s, method: method}
}

// streamOver lets go of a stream that is over: its number may be used again.
func (s *session) streamOver(stream *Stream) {
	stream.over()
	s.openStreams--
	s.ended()
	if s.streams.IsOurs(stream.state.Number()) {
		s.wakeNextOpener()
	}
}

// wakeNextOpener wakes one that waits to open a stream, for each that ends.
func (s *session) wakeNextOpener() {
	if len(s.openers) > 0 {
		s.openers[0].wake()
		s.openers = slices.Delete(s.openers, 0, 1)
	}
}

// endStreams wakes all that wait for a stream, as the session is over.
func (s *session) endStreams() {
	s.streams.Each(func(stream *Stream) {
		stream.wakeAll()
		stream.over()
	})
	wake(&s.openers, true)
}

// streamMessage takes in a message on a stream that is open, or that it opens.
func (s *session) streamMessage(head *proto.Head, m *Message) error {
	event, err := s.streams.Message(head, m.length, m.hasMetadata)
	if err != nil {
		return violation(err)
	}
	stream := event.Stream.Owner
	if event.Change == proto.Opened {
		stream = s.newStream(head.Tag)
		stream.state, event.Stream.Owner = event.Stream, stream
		stream.deadline = deadlineOf(head.Time)
	}
	stream.receive(&event, head.Flags, m)
	if event.Over {
		s.streamOver(stream)
	}
	if event.Change == proto.Opened {
		s.arrive(head, nil, stream)
	}
	return nil
}

// receive keeps what came, and wakes its readers.
func (t *Stream) receive(event *streamEvent, flags proto.Flags, m *Message) {
	if m.hasMetadata && event.First {
		t.openMetadata, t.hasOpenMetadata = m.metadata, true
	}
	if m.hasMetadata && flags.Has(proto.FlagFin) {
		t.lastMetadata = m.metadata
	}
	if event.Change == proto.Ignored || event.Drops || flags.Has(proto.FlagEmpty) {
		m.Release()
	} else {
		t.queue.add(m)
	}
	if event.Change == proto.Ignored {
		return
	}
	s := t.session
	s.streamMessages++
	for _, w := range t.readers {
		s.resumed = s.resumed || w.asleep
		w.wake()
	}
}

func (s *session) receiveReset(head *proto.Head) error {
	event, err := s.streams.PeerReset(head.Stream, proto.ErrorCode(head.Tag))
	if err != nil {
		return violation(err)
	}
	if event.Change == proto.Ignored {
		return nil
	}
	stream := event.Stream.Owner
	if event.Drops {
		stream.drop()
	}
	stream.wakeAll()
	if event.Over {
		s.streamOver(stream)
	}
	return nil
}

// receiveWindow takes in what the other side has taken up, of a stream or of one-way messages.
func (s *session) receiveWindow(head *proto.Head, body [8]byte) error {
	event, err := s.streams.Window(head.Stream, head.Tag, binary.LittleEndian.Uint64(body[:]))
	switch {
	case err != nil:
		return violation(err)
	case event.Change == proto.StreamRoom:
		wake(&event.Stream.Owner.writers, false)
	case event.Change == proto.OneWayRoom:
		wake(&s.posters, false)
	}
	return nil
}

// takenUp notes that a one-way message is being served.
func (s *session) takenUp(length int) {
	if s.streams.TakePost(length) {
		s.settle()
	}
}

// waitForOneWayWindow waits until a one-way message may start.
func (s *session) waitForOneWayWindow(lim limit) error {
	for !s.streams.MayPost() {
		s.flush() // What was posted before is what the other side is to take up.
		w := s.newWaiter()
		s.posters = append(s.posters, w)
		err := s.wait(w, lim, s.streams.MayPost)
		remove(&s.posters, w)
		s.freeWaiter(w)
		if err != nil {
			return err
		}
	}
	return nil
}

// owes says whether an entry may be due.
func (s *session) owes() bool { return s.goAwayDue || s.streams.IsDue() }

// nextTransmit is the next entry that is due.
func (s *session) nextTransmit() (transmit, bool) {
	if s.goAwayDue {
		return transmit{Head: proto.Head{Kind: proto.KindGoAway}}, true
	}
	return s.streams.NextTransmit()
}

// transmitted notes that it was published.
func (s *session) transmitted(sent transmit) {
	if sent.Head.Kind == proto.KindGoAway {
		s.goAwayDue, s.told = false, true
	} else if over := s.streams.Transmitted(sent); over != nil {
		s.streamOver(over.Owner)
	}
}
