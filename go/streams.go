package breezeway

import (
	"cmp"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

type (
	streamState = proto.Stream[*Stream]
	streams     = proto.Streams[*Stream]
	streamEvent = proto.StreamEvent[*Stream]
)

// A queue holds the messages of a stream that were not received. After it is emptied it keeps a
// small array.
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

// take removes and returns the oldest message. The queue must not be empty.
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

// waitForOneWayWindow waits until a one-way message may start.
func (s *session) waitForOneWayWindow(lim limit) error {
	for !s.rules.Streams.MayPost() {
		s.flush() // The peer opens the window only for messages that it has seen.
		err := s.waitIn(&s.posters, s.newWaiter(), &lim, func() bool {
			return s.rules.Streams.MayPost() || s.rules.IsGoingAway()
		})
		if err = cmp.Or(err, s.mayBegin(&outgoing{})); err != nil {
			return err
		}
	}
	return nil
}
