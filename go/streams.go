package breezeway

import "github.com/breezeway-ipc/breezeway/go/internal/proto"

type (
	streamState = proto.Stream[*Stream]
	streams     = proto.Streams[*Stream]
	streamEvent = proto.StreamEvent[*Stream]
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
	if s.rules.Streams.IsOurs(stream.state.Number()) {
		wakeNext(&s.openers)
	}
}

// endStreams wakes all that wait for a stream, as the session is over.
func (s *session) endStreams() {
	s.rules.Streams.Each(func(stream *Stream) {
		stream.wakeAll()
		stream.over()
	})
	wake(&s.openers, true)
}

// streamChanged takes in an entry that concerns a stream.
func (s *session) streamChanged(event *streamEvent, head *proto.Head, m *Message) {
	stream := event.Stream.Owner
	switch event.Change {
	case proto.StreamRoom:
		wake(&stream.writers, false)
	case proto.WasReset:
		if event.Drops {
			stream.drop()
		}
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

// receive keeps what came, and wakes its readers.
func (t *Stream) receive(event *streamEvent, flags proto.Flags, m *Message) {
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

// waitForOneWayWindow waits until a one-way message may start.
func (s *session) waitForOneWayWindow(lim limit) error {
	for !s.rules.Streams.MayPost() {
		s.flush() // What was posted before is what the other side is to take up.
		if err := s.waitIn(&s.posters, s.newWaiter(), lim, s.rules.Streams.MayPost); err != nil {
			return err
		}
	}
	return nil
}
