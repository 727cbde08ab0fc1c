package breezeway

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A Stream carries any number of messages in each direction, in order. Each direction ends once.
// Several goroutines may call its methods; each message arrives whole, in any order among
// concurrent senders.
//
// Messages that Recv has not returned count against this side's [WithStreamWindow], so that a slow
// reader delays its own stream only.
type Stream struct {
	session  *session
	state    *streamState
	method   uint32
	deadline time.Time

	queue            queue
	readers, writers []*waiter
	openMetadata     []byte
	hasOpenMetadata  bool
	lastMetadata     []byte
	// hasFirst is set by the peer's first entry, firstIsLast if that is its last one too.
	hasFirst, firstIsLast bool

	ctx    context.Context // nil until Context is called
	cancel context.CancelFunc
	isOver bool // true once the stream or its session is over, or was reset here
}

// Method returns the method that the stream was opened for.
func (t *Stream) Method() uint32 { return t.method }

// Deadline returns the time until which the peer waits for the stream, or false if it set none.
func (t *Stream) Deadline() (time.Time, bool) { return t.deadline, !t.deadline.IsZero() }

// Peer returns the peer's credentials.
func (t *Stream) Peer() Peer { return t.session.peer }

// Carrier returns the carrier of the session.
func (t *Stream) Carrier() Carrier { return t.session.link.carrier() }

// Context returns a context that ends with the stream or its session, or earlier at the stream's
// deadline, or when the peer resets the stream behind its last message. Recv and Send report the
// reason why the stream has ended; Recv still returns the messages before such a reset. An end that
// the server causes is noticed once a goroutine waits on a client's session, since nothing else
// reads it.
func (t *Stream) Context() context.Context {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	if t.ctx == nil {
		if t.deadline.IsZero() {
			t.ctx, t.cancel = context.WithCancel(context.Background())
		} else {
			t.ctx, t.cancel = context.WithDeadline(context.Background(), t.deadline)
		}
		if t.isOver || t.state.WasReset() {
			t.cancel()
		}
	}
	return t.ctx
}

// over cancels the stream's context.
func (t *Stream) over() {
	t.isOver = true
	t.endContext()
}

func (t *Stream) endContext() {
	if t.cancel != nil {
		t.cancel()
	}
}

func (t *Stream) wakeAll() {
	wake(&t.readers, false)
	wake(&t.writers, false)
}

// drop releases the messages that were not received.
func (t *Stream) drop() {
	for t.queue.len() > 0 {
		m := t.queue.take()
		m.Release()
	}
}

// openStream opens a stream to the peer. It waits while the peer's limit on open streams is
// reached. The message is the first one, and with last the only one.
func (s *session) openStream(
	ctx context.Context, method uint32, out *outgoing, last bool,
) (*Stream, error) {
	lim := limitOf(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.mayBegin(out); err != nil {
		return nil, err
	}
	if err := lim.err(); err != nil {
		return nil, timedOut(err)
	}
	if !s.rules.Streams.AreTaken() {
		return nil, &CallError{CodeRefused,
			"the peer takes no streams (its option WithMaxStreams)"}
	}
	for !s.rules.Streams.HasRoom() {
		err := s.waitIn(&s.openers, s.newWaiter(), &lim, func() bool {
			return s.rules.Streams.HasRoom() || s.mayBegin(out) != nil
		})
		if err = cmp.Or(err, s.mayBegin(out)); err != nil {
			if s.rules.Streams.HasRoom() {
				wakeNext(s.openers) // This waiter may have used up a wake-up.
			}
			return nil, timedOut(err)
		}
	}
	stream := s.newStream(method)
	stream.state = s.rules.Streams.Open(s.rules.TakeNumber(), stream)
	head := proto.Head{Kind: proto.KindMessage, Flags: proto.FlagOpen | proto.FlagStream,
		Stream: stream.state.Number(), Tag: method, Time: lim.timeLeft()}
	if last {
		head.Flags |= proto.FlagFin
	}
	if err := s.send(head, out, &lim); err != nil {
		s.rules.Streams.NotOpened(stream.state)
		s.streamOver(stream)
		return nil, timedOut(err)
	}
	s.rules.Streams.Opened(stream.state)
	s.rules.Streams.Sent(stream.state, out.length(), out.empty, last)
	return stream, nil
}

// Send sends a message. It waits while the peer's window is used up. The end of ctx ends the wait,
// not the stream.
func (t *Stream) Send(ctx context.Context, message []byte) error {
	return t.send(ctx, &outgoing{bytes: message}, false)
}

// SendMessage sends a message that was received on this session or another one. In shared memory it
// makes no intermediate copy.
func (t *Stream) SendMessage(ctx context.Context, message *Message) error {
	return t.send(ctx, &outgoing{message: message}, false)
}

// SendReserved sends a reservation.
func (t *Stream) SendReserved(ctx context.Context, r *Reservation) error {
	if r.session != t.session || !r.take() {
		return ErrSent
	}
	err := t.send(ctx, &outgoing{reserved: r}, false)
	r.sentOr(err)
	return err
}

// CloseSend ends this side's direction. After the messages sent before, the peer's Recv returns
// io.EOF.
func (t *Stream) CloseSend() error {
	return t.send(context.Background(), &outgoing{empty: true}, true)
}

// CloseSendWith ends this side's direction with a metadata block, such as trailers, behind the last
// message. An empty block is not sent.
func (t *Stream) CloseSendWith(metadata []byte) error {
	return t.send(context.Background(), &outgoing{empty: true, metadata: metadata,
		hasMetadata: len(metadata) > 0}, true)
}

func (t *Stream) send(ctx context.Context, out *outgoing, last bool) error {
	return timedOut(t.sendWithin(limitOf(ctx), out, last))
}

func (t *Stream) sendWithin(lim limit, out *outgoing, last bool) error {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkMetadata(out); err != nil {
		return err
	}
	for {
		if err := t.waitToSend(lim, out); err != nil {
			return err
		}
		if isMiddle := !last && t.state.HasBegun(); isMiddle && (out.empty || out.hasMetadata) {
			return errMiddle
		}
		head := proto.Head{Kind: proto.KindMessage, Stream: t.state.Number()}
		if last {
			head.Flags |= proto.FlagFin
		}
		err := s.transmit(head, out)
		if err == nil {
			break
		}
		if err := s.waitForRoom(err, lim); err != nil {
			return err
		}
	}
	isOver := s.rules.Streams.Sent(t.state, out.length(), out.empty, last)
	if last {
		t.wakeAll()
	}
	if isOver {
		s.streamOver(t)
	}
	s.flush()
	return nil
}

// waitToSend waits until the window admits a message.
func (t *Stream) waitToSend(lim limit, out *outgoing) error {
	s := t.session
	for {
		if err := s.endError(); err != nil {
			return err
		}
		switch t.state.SendState(out.empty) {
		case proto.SendReset:
			return t.resetError()
		case proto.SendEnded:
			return io.ErrClosedPipe
		case proto.SendNow:
			return lim.err()
		}
		err := s.waitIn(&t.writers, s.newWaiter(), &lim, func() bool {
			return t.state.SendState(false) != proto.SendLater || s.ending() != nil
		})
		if err != nil {
			return err
		}
	}
}

// finish is CloseSend without waiting: the last entry is pending until there is room.
func (t *Stream) finish() error {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := t.waitToSend(limit{}, &outgoing{empty: true}); err != nil {
		return err
	}
	s.rules.Streams.Finish(t.state)
	t.wakeAll()
	s.settle()
	return nil
}

// Recv returns the next message, or io.EOF after the peer's last one. Messages received before the
// session's end, or before its client's shutdown, are still returned.
func (t *Stream) Recv(ctx context.Context) (Message, error) {
	m, err := t.receiveWithin(limitOf(ctx))
	return m, timedOut(err)
}

func (t *Stream) receiveWithin(lim limit) (Message, error) {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.newWaiter()
	w.handsOn = true
	if err := s.waitIn(&t.readers, w, &lim, t.hasNews); err != nil {
		return Message{}, err
	}
	switch t.state.RecvState() {
	case proto.RecvReset:
		return Message{}, t.resetError()
	case proto.RecvEnd:
		t.state.ReadEnd()
		return Message{}, io.EOF
	case proto.RecvNothing:
		return Message{}, s.ending()
	}
	next := t.queue.take()
	if s.rules.Streams.Take(t.state, next.length) {
		s.settle()
	}
	return next, nil
}

func (t *Stream) hasNews() bool {
	return t.state.RecvState() != proto.RecvNothing || t.session.ending() != nil
}

func (t *Stream) resetError() error { return &ResetError{Code(t.state.Code())} }

// Metadata returns the metadata block of the peer's first entry, or false if it had none.
func (t *Stream) Metadata() ([]byte, bool) {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.openMetadata, t.hasOpenMetadata
}

// Trailer returns the metadata block of the peer's last entry.
func (t *Stream) Trailer() []byte {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.lastMetadata
}

// Reset ends both directions and the stream's context. Messages in flight are dropped.
func (t *Stream) Reset(code Code) {
	t.dropAnd(func(streams *streams) bool {
		t.over()
		return streams.Reset(t.state, proto.ErrorCode(code))
	})
}

// discard drops the messages that were not received. Later ones reset the stream.
func (t *Stream) discard() {
	t.dropAnd(func(streams *streams) bool { return streams.Discard(t.state) })
}

// Close releases the stream. After CloseSend, the peer still receives what was sent; a message that
// it sends from now on resets the stream. If the peer opened the stream and Recv has returned
// io.EOF, Close ends this side's direction like CloseSend. It resets any other stream.
func (t *Stream) Close() error {
	t.dropAnd(func(streams *streams) bool { return streams.Close(t.state) })
	return nil
}

// dropAnd drops the messages that were not received, and calls end, which returns true if an entry
// must be sent.
func (t *Stream) dropAnd(end func(streams *streams) bool) {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	t.drop()
	isDue := end(&s.rules.Streams)
	t.wakeAll()
	if isDue {
		s.settle()
	}
}

// IsReset returns the code and true if err is the error of a stream that was reset.
func IsReset(err error) (Code, bool) {
	var reset *ResetError
	if errors.As(err, &reset) {
		return reset.Code, true
	}
	return 0, false
}

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
