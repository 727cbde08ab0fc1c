package breezeway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// A Call is what a client asks for: a request with a method, to which the handler replies once.
//
// It is the handler's until the handler returns, and not used afterwards. A reply releases the
// request.
type Call struct {
	session *session
	arrival
	replied bool
	sent    bool
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

// Method is the method's number.
func (c *Call) Method() uint32 { return c.head.Tag }

// Request is what the client has sent.
func (c *Call) Request() *Message { return &c.message }

// IsOneWay says whether the client wants no reply. Replying is allowed, and sends nothing.
func (c *Call) IsOneWay() bool { return c.head.Flags.Has(proto.FlagNoReply) }

// Peer is the client.
func (c *Call) Peer() Peer { return c.session.peer }

// Service is what the client's messages mean, as its option Service says.
func (c *Call) Service() uint16 { return c.session.peerHello.Service }

// Deadline says how long the client waits, if it has said so.
func (c *Call) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Context is done when the client no longer waits: its deadline has passed, the session is over or,
// with the option Offload, it has cancelled the call, or is gone. (Without it, the session's
// goroutine runs the handler, and nobody reads meanwhile.) A shutdown by the client cancels no call
// that came before.
func (c *Call) Context() context.Context {
	if c.ctx == nil {
		c.makeContext()
	}
	return c.ctx
}

func (c *Call) makeContext() {
	ctx, cancel := context.WithCancelCause(context.Background())
	c.ctx, c.cancel = ctx, cancel
	if c.deadline.IsZero() {
		return
	}
	ctx, stop := context.WithDeadline(ctx, c.deadline)
	c.ctx, c.cancel = ctx, func(cause error) { cancel(cause); stop() }
}

// Reply replies with a copy of bytes.
func (c *Call) Reply(bytes []byte) error { return c.reply(&outgoing{bytes: bytes}) }

// ReplyWithMetadata replies with a metadata block beside the bytes.
func (c *Call) ReplyWithMetadata(metadata, bytes []byte) error {
	return c.reply(&outgoing{metadata: metadata, hasMetadata: true, bytes: bytes})
}

// Echo replies with the request's own bytes; in shared memory, without a copy in between.
func (c *Call) Echo() error { return c.reply(&outgoing{message: &c.message}) }

// Reserve takes space for a reply of n bytes, to be filled in place.
func (c *Call) Reserve(n int) (*Reservation, error) {
	return c.session.reserve(n, c.replyLimit())
}

// ReplyReserved replies with reserved space.
func (c *Call) ReplyReserved(r *Reservation) error {
	if r.session != c.session || !r.take() {
		return ErrSent
	}
	out := outgoing{reserved: r}
	err := c.reply(&out)
	if out.sent {
		r.drop()
	} else {
		r.untake()
	}
	return err
}

// Fail fails the call. A long reason is cut.
func (c *Call) Fail(code Code, reason string) error {
	if len(reason) > proto.MaxErrorReason {
		reason = reason[:proto.MaxErrorReason]
	}
	return c.send(proto.FlagError, uint32(code), &outgoing{bytes: []byte(reason)})
}

func (c *Call) replyLimit() limit {
	return limit{deadline: time.Now().Add(c.session.opts.replyTimeout), isReply: true}
}

func (c *Call) reply(out *outgoing) error {
	err := c.send(0, 0, out)
	if err == nil {
		return nil
	}
	return c.notReplied(err)
}

// notReplied fails a call whose reply cannot be sent.
func (c *Call) notReplied(err error) error {
	var tooLarge *TooLargeError
	var shortage *ShortageError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &shortage):
		c.replied = false
		return errors.Join(err, c.Fail(CodeNoMemory, "no memory for the reply: "+err.Error()))
	case errors.Is(err, ErrReleased):
		c.replied = false // The handler's mistake, which fails its call.
	case errors.As(err, &tooLarge):
		c.replied = false
		return errors.Join(err, c.Fail(CodeFailed, err.Error()))
	}
	return err
}

func (c *Call) send(flags proto.Flags, tag uint32, out *outgoing) error {
	if c.replied {
		return ErrSent
	}
	c.replied = true
	if c.IsOneWay() {
		return nil
	}
	s := c.session
	if err := s.checkMetadata(out); err != nil {
		c.replied = false
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	head := c.head.Reply()
	head.Flags, head.Tag = head.Flags|flags, tag
	out.releases = &c.message
	err := s.transmit(head, out)
	if errors.Is(err, shm.ErrFull) || errors.Is(err, shm.ErrNoMemory) {
		err = s.waitAndSend(head, out, c.replyLimit(), err)
	}
	if err != nil {
		return timedOut(s.concerns(err))
	}
	c.sent = true
	c.isOver()
	return nil
}

func (s *session) waitAndSend(head proto.Head, out *outgoing, lim limit, err error) error {
	if err := s.waitForRoom(err, lim); err != nil {
		return err
	}
	return s.send(head, out, &lim)
}

// end makes sure that the call was replied to, and gives back the request.
func (c *Call) end(err error) {
	if !c.replied && !c.IsOneWay() {
		c.failWith(err)
	}
	c.message.Release()
	if !c.sent && !c.IsOneWay() {
		c.unsent()
	}
	if c.cancel != nil {
		c.cancel(errCallOver)
	}
}

func (c *Call) failWith(err error) {
	var failure *CallError
	switch {
	case errors.As(err, &failure):
		_ = c.Fail(failure.Code, failure.Reason) // That the session is over shows by itself.
	case err != nil:
		_ = c.Fail(CodeFailed, err.Error())
	default:
		_ = c.Fail(CodeFailed, "the handler did not reply")
	}
}

// unsent ends a session whose client takes no replies. One that is gone took none, and whatever
// else it has asked for is served; behind the farewell none is sent.
func (c *Call) unsent() {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
	case s.rules.Ending.HasBegun():
		c.isOver()
	default:
		s.finish(errUnread)
	}
}

// isOver counts it no more. The session's lock is held.
func (c *Call) isOver() {
	s := c.session
	s.rules.Served.CallEnded(c.head.Stream)
	if s.serving != nil {
		delete(s.serving, c.head.Stream)
	}
	s.flush()
	s.endIfServed()
	s.ended()
	if s.socket != nil {
		s.promote() // Nobody drives a session of which more calls were taken than is agreed.
	}
}

var errUnread = errors.New("breezeway: the client does not take replies, and the session was ended")

var errCallOver = fmt.Errorf("breezeway: the call is over: %w", context.Canceled)
