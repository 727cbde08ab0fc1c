package breezeway

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A Stream carries any number of messages each way, in order. Each direction ends once. Its methods
// may be called by several goroutines; messages of several senders come whole, in any order.
//
// The other side sends no more than this side's StreamWindow before messages are taken by Recv, so
// a slow reader holds up this stream and no other.
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

	ctx    context.Context // nil until it is asked for
	cancel context.CancelFunc
	isOver bool // or its session is
}

// Method is the method with which it was opened.
func (t *Stream) Method() uint32 { return t.method }

// Deadline says how long the other side waits for the stream, if it has said so.
func (t *Stream) Deadline() (time.Time, bool) { return t.deadline, !t.deadline.IsZero() }

// Peer is the other side.
func (t *Stream) Peer() Peer { return t.session.peer }

// Context is done when the time is over for which the other side waits, or the stream or its
// session is over before; it is never done if the other side has not said how long it waits. What
// has ended the stream Recv and Send report.
func (t *Stream) Context() context.Context {
	if t.deadline.IsZero() {
		return context.Background()
	}
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	if t.ctx == nil {
		t.ctx, t.cancel = context.WithDeadline(context.Background(), t.deadline)
		if t.isOver {
			t.cancel()
		}
	}
	return t.ctx
}

// over lets go of its context.
func (t *Stream) over() {
	t.isOver = true
	if t.cancel != nil {
		t.cancel()
	}
}

func (t *Stream) wakeAll() {
	wake(&t.readers, false)
	wake(&t.writers, false)
}

// drop drops what was not taken.
func (t *Stream) drop() {
	for t.queue.len() > 0 {
		m := t.queue.take()
		m.Release()
	}
}

// openStream opens a stream to the other side, waiting while as many are open as it takes.
func (s *session) openStream(ctx context.Context, method uint32, out *outgoing) (*Stream, error) {
	lim := limitOf(ctx)
	out.empty = true
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
			"the other side takes no streams (its option MaxStreams)"}
	}
	for !s.rules.Streams.HasRoom() {
		err := s.waitIn(&s.openers, s.newWaiter(), lim, func() bool {
			return s.rules.Streams.HasRoom() || s.ending() != nil
		})
		if err = cmp.Or(err, s.ending()); err != nil {
			if s.rules.Streams.HasRoom() {
				wakeNext(&s.openers) // It may have been woken in vain.
			}
			return nil, timedOut(err)
		}
	}
	stream := s.newStream(method)
	stream.state = s.rules.Streams.Open(s.rules.TakeNumber(), stream)
	head := proto.Head{Kind: proto.KindMessage, Flags: proto.FlagOpen | proto.FlagStream,
		Stream: stream.state.Number(), Tag: method, Time: lim.timeLeft()}
	if err := s.send(head, out, &lim); err != nil {
		s.rules.Streams.NotOpened(stream.state)
		s.streamOver(stream)
		return nil, timedOut(err)
	}
	s.rules.Streams.Opened(stream.state)
	return stream, nil
}

// Send sends a message, waiting while the other side's window is used up. The context's deadline
// and cancellation end the wait, and not the stream.
func (t *Stream) Send(ctx context.Context, message []byte) error {
	return t.send(ctx, &outgoing{bytes: message}, false)
}

// SendMessage sends what was received on this session or another one; in shared memory, without a
// copy in between.
func (t *Stream) SendMessage(ctx context.Context, message *Message) error {
	return t.send(ctx, &outgoing{message: message}, false)
}

// SendReserved sends reserved space.
func (t *Stream) SendReserved(ctx context.Context, r *Reservation) error {
	if r.session != t.session || !r.take() {
		return ErrSent
	}
	err := t.send(ctx, &outgoing{reserved: r}, false)
	r.sentOr(err)
	return err
}

// CloseSend ends this side's direction: the other side's Recv gives io.EOF behind what was sent.
func (t *Stream) CloseSend() error {
	return t.send(context.Background(), &outgoing{empty: true}, true)
}

// CloseSendWith is CloseSend with a metadata block behind the last message, as for trailers. One of
// 0 bytes is none.
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

// waitToSend waits until the window allows a message.
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
		err := s.waitIn(&t.writers, s.newWaiter(), lim, func() bool {
			return t.state.SendState(false) != proto.SendLater || s.ending() != nil
		})
		if err != nil {
			return err
		}
	}
}

// finish is CloseSend, but that it waits for nothing: the last message is owed until there is room.
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

// Recv takes the next message; io.EOF if the other side has sent its last one. What was received
// before the session's end, or its client's shutdown, is still given.
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
	if err := s.waitIn(&t.readers, w, lim, t.hasNews); err != nil {
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

// Metadata is the block that came with the first entry of the other side.
func (t *Stream) Metadata() ([]byte, bool) {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.openMetadata, t.hasOpenMetadata
}

// Trailer is the block that came with the last entry of the other side.
func (t *Stream) Trailer() []byte {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.lastMetadata
}

// Reset ends both directions; what is under way is dropped.
func (t *Stream) Reset(code Code) {
	t.dropAnd(func(streams *streams) bool {
		return streams.Reset(t.state, proto.ErrorCode(code))
	})
}

// discard drops what came and was not taken. What still comes resets the stream.
func (t *Stream) discard() {
	t.dropAnd(func(streams *streams) bool { return streams.Discard(t.state) })
}

// Close lets go of the stream. After CloseSend, the other side still takes what was sent; what it
// sends from now on resets the stream. A stream of the other side whose reader was given io.EOF is
// ended as by CloseSend, and any other one is reset.
func (t *Stream) Close() error {
	t.dropAnd(func(streams *streams) bool { return streams.Close(t.state) })
	return nil
}

// dropAnd drops what came and was not taken, and ends the stream, which says whether an entry is
// due with that.
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

// IsReset says whether an error is that of a stream which was reset, and the code.
func IsReset(err error) (Code, bool) {
	var reset *ResetError
	if errors.As(err, &reset) {
		return reset.Code, true
	}
	return 0, false
}
