package breezeway

import (
	"encoding/binary"
	"slices"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// direction is how far one direction of a stream has got.
type direction int

const (
	fresh direction = iota
	open
	finished
	reset
)

func (d direction) isOver() bool { return d >= finished }

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

// streams are those of a session that are not over (section 4.3), by number.
type streams struct {
	isClient     bool
	own, peer    *proto.Hello
	byNumber     map[uint32]*Stream
	count        *int // of byNumber, for those who do not see it
	openedHere   int
	openedByPeer int
	// Streams that owe an entry, and who waits to open one.
	owing   []*Stream
	waiters []*waiter
}

// control is an entry that a stream owes.
type control struct {
	stream *Stream
	head   proto.Head
	bytes  uint64
}

func (t *streams) init(isClient bool, own, peer *proto.Hello, count *int) {
	*t = streams{isClient: isClient, own: own, peer: peer, byNumber: map[uint32]*Stream{},
		count: count}
}

func (t *streams) uses(number uint32) bool {
	return len(t.byNumber) > 0 && t.byNumber[number] != nil
}

func (t *streams) isOurs(number uint32) bool { return number%2 == 1 == t.isClient }

func (t *streams) add(s *session, number, method uint32) *Stream {
	stream := &Stream{
		session: s, number: number, method: method,
		credit:  newCredit(t.peer.StreamMessages, t.peer.StreamBytes),
		granted: granted{credit: newCredit(t.own.StreamMessages, t.own.StreamBytes)},
	}
	t.byNumber[number] = stream
	*t.count++
	if t.isOurs(number) {
		t.openedHere++
	} else {
		t.openedByPeer++
	}
	return stream
}

// settle frees the number of a stream that is over.
func (t *streams) settle(stream *Stream) {
	if !stream.outgoing.isOver() || !stream.incoming.isOver() ||
		t.byNumber[stream.number] != stream {
		return
	}
	// The other side may use the number again from now on.
	stream.resetDue = false
	delete(t.byNumber, stream.number)
	stream.over()
	*t.count--
	stream.session.ended()
	if !t.isOurs(stream.number) {
		t.openedByPeer--
		return
	}
	t.openedHere--
	t.wakeNext()
}

// wakeNext wakes one who waits to open a stream, for each that ends.
func (t *streams) wakeNext() {
	if len(t.waiters) > 0 {
		t.waiters[0].wake()
		t.waiters = slices.Delete(t.waiters, 0, 1)
	}
}

func (t *streams) finish(err error) {
	for _, stream := range t.byNumber {
		stream.wakeAll()
		stream.over()
	}
	wake(&t.waiters, true)
}

// nextControl is the next entry that is owed.
func (t *streams) nextControl() (control, bool) {
	for len(t.owing) > 0 {
		stream := t.owing[0]
		head := proto.Head{Stream: stream.number}
		if stream.resetDue {
			head.Kind, head.Tag = proto.KindReset, uint32(stream.code)
			return control{stream: stream, head: head}, true
		}
		if stream.finDue {
			head.Kind, head.Flags = proto.KindMessage, proto.FlagFin
			return control{stream: stream, head: head}, true
		}
		if stream.granted.isDue() && !stream.incoming.isOver() {
			head.Kind, head.Tag = proto.KindWindow, stream.granted.consumedMessages
			return control{stream, head, stream.granted.consumedBytes}, true
		}
		stream.owing = false
		t.owing = slices.Delete(t.owing, 0, 1)
	}
	return control{}, false
}

// controlSent notes that it was published.
func (t *streams) controlSent(sent control) {
	if sent.head.Kind == proto.KindWindow {
		sent.stream.granted.giveBack()
		return
	}
	if sent.head.Kind == proto.KindMessage {
		sent.stream.outgoing = finished
	} else {
		sent.stream.outgoing = reset
	}
	sent.stream.resetDue, sent.stream.finDue = false, false
	t.settle(sent.stream)
}

func (s *session) owe(stream *Stream) {
	s.owes = true
	if !stream.owing {
		stream.owing = true
		s.streams.owing = append(s.streams.owing, stream)
	}
}

// streamMessage judges a message on a stream that is open, or that it opens.
func (s *session) streamMessage(head proto.Head, m *Message) error {
	t := &s.streams
	stream := t.byNumber[head.Stream]
	isOpening := head.Flags.Has(proto.FlagOpen)
	switch {
	case isOpening && (stream != nil || head.Stream == 0 || t.isOurs(head.Stream)):
		return violated("stream %d cannot be opened by the other side now", head.Stream)
	case isOpening && t.openedByPeer == int(t.own.MaxStreams):
		return violated("more streams than the %d that this side takes", t.own.MaxStreams)
	case isOpening:
		stream = t.add(s, head.Stream, head.Tag)
		stream.deadline = deadlineOf(head.Time)
	case stream == nil:
		return violated("a message on stream %d, which is not open", head.Stream)
	}
	if err := stream.receive(head.Flags, m); err != nil {
		return err
	}
	if stream.discarding {
		stream.drop()
		if !stream.incoming.isOver() && !stream.resetDue && stream.outgoing != reset {
			stream.wasReset, stream.code, stream.resetDue = true, CodeCancelled, true
			s.owe(stream)
		}
	}
	t.settle(stream)
	if isOpening {
		s.arrive(&head, nil, stream)
	}
	return nil
}

// receive takes in what came on a stream.
func (t *Stream) receive(flags proto.Flags, m *Message) error {
	isLast, isEmpty := flags.Has(proto.FlagFin), flags.Has(proto.FlagEmpty)
	if t.incoming.isOver() {
		return violated("an entry behind the last one of stream %d", t.number)
	}
	if atAnEnd := t.incoming == fresh || isLast; !atAnEnd && (m.hasMetadata || isEmpty) {
		return violated("flags %#02x in the middle of a stream", flags)
	}
	if !isEmpty {
		if err := t.granted.take(m.length); err != nil {
			return err
		}
	}
	if m.hasMetadata && t.incoming == fresh {
		t.openMetadata, t.hasOpenMetadata = m.metadata, true
	}
	if m.hasMetadata && isLast {
		t.lastMetadata = m.metadata
	}
	t.incoming = open
	if isLast {
		t.incoming = finished
	}
	if t.resetDue || t.outgoing == reset {
		m.Release() // It was under way when this side reset the stream.
		return nil
	}
	if isEmpty {
		m.Release()
	} else {
		t.queue.add(m)
	}
	s := t.session
	s.streamMessages++
	for _, w := range t.readers {
		s.resumed = s.resumed || w.asleep
		w.wake()
	}
	return nil
}

func (s *session) receiveReset(head proto.Head) error {
	stream := s.streams.byNumber[head.Stream]
	if stream == nil {
		return crossed(head.Stream)
	}
	if stream.incoming == reset {
		return violated("an entry behind the last one of stream %d", stream.number)
	}
	if !stream.wasReset {
		stream.wasReset, stream.code = true, Code(head.Tag)
		stream.refuses = stream.incoming == finished
	}
	stream.incoming = reset
	if !stream.refuses {
		stream.drop()
	}
	s.answerReset(stream)
	stream.wakeAll()
	s.streams.settle(stream)
	return nil
}

// answerReset owes the answer to the other side's reset, but not while messages from before it wait
// to be taken: the answer frees the stream's number, and MaxStreams is to bound what is kept. It
// says whether it is now to be sent.
func (s *session) answerReset(stream *Stream) bool {
	if stream.incoming != reset || stream.queue.len() > 0 || stream.outgoing.isOver() ||
		stream.resetDue {
		return false
	}
	stream.resetDue = true
	s.owe(stream)
	return true
}

// crossed judges an entry for a stream that is over here: it has crossed this side's last one.
func crossed(number uint32) error {
	if number == 0 {
		return violated("an entry about stream 0, which is none")
	}
	return nil
}

func (t *streams) receiveWindow(head proto.Head, body [8]byte) error {
	stream := t.byNumber[head.Stream]
	if stream == nil {
		return crossed(head.Stream)
	}
	if err := stream.credit.add(head.Tag, binary.LittleEndian.Uint64(body[:])); err != nil {
		return err
	}
	wake(&stream.writers, false)
	return nil
}
