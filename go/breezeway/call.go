package breezeway

import (
	"context"
	"errors"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// A Call is a client's request for a method. The handler replies to it once.
//
// It is valid until the handler returns. A reply releases the request.
type Call struct {
	session *session
	arrival
	replied bool
	sent    bool
	ctx     *callContext
}

// Method returns the method number.
func (c *Call) Method() uint32 { return c.head.Tag }

// Request returns the request.
func (c *Call) Request() *Message { return &c.message }

// IsOneWay returns true if the client expects no reply. Replies to a one-way message are discarded.
func (c *Call) IsOneWay() bool { return c.head.Flags.Has(proto.FlagNoReply) }

// Peer returns the client's credentials.
func (c *Call) Peer() Peer { return c.session.peer }

// Carrier returns the carrier of the call's session.
func (c *Call) Carrier() Carrier { return c.session.link.carrier() }

// Service returns the number that the client set with the option [WithService].
func (c *Call) Service() uint16 { return c.session.peerHello.Service }

// Deadline returns the time until which the client waits. It returns false if the request has none.
func (c *Call) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Reply sends a reply with a copy of bytes.
func (c *Call) Reply(bytes []byte) error { return c.reply(&outgoing{bytes: bytes}) }

// ReplyWithMetadata sends a reply with a metadata block beside the bytes.
func (c *Call) ReplyWithMetadata(metadata, bytes []byte) error {
	return c.reply(&outgoing{metadata: metadata, hasMetadata: true, bytes: bytes})
}

// Echo replies with the bytes of the request. In shared memory it makes no intermediate copy.
func (c *Call) Echo() error { return c.reply(&outgoing{message: &c.message}) }

// Reserve reserves space for a reply of n bytes, to be filled in place.
func (c *Call) Reserve(n int) (*Reservation, error) {
	return c.session.reserve(n, c.replyLimit())
}

// ReplyReserved sends a reservation as the reply.
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

// Fail fails the call with a code and a reason. It truncates a reason that is too long.
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
		c.replied = false // The handler released the request: its call fails.
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

// end fails the call if the handler did not reply, and releases the request.
func (c *Call) end(err error) {
	if !c.replied && !c.IsOneWay() {
		c.failWith(err)
	}
	c.message.Release()
	if !c.sent && !c.IsOneWay() {
		c.unsent()
	}
	c.ctx.end()
}

func (c *Call) failWith(err error) {
	var failure *CallError
	switch {
	case errors.As(err, &failure):
		_ = c.Fail(failure.Code, failure.Reason) // The next operation reports such an error.
	case errors.Is(err, context.DeadlineExceeded):
		_ = c.Fail(CodeDeadlinePassed, err.Error())
	case errors.Is(err, context.Canceled):
		_ = c.Fail(CodeCancelled, err.Error())
	case err != nil:
		_ = c.Fail(CodeFailed, err.Error())
	default:
		_ = c.Fail(CodeFailed, "the handler did not reply")
	}
}

// unsent ends the session of a client that takes no replies. If the session's end has begun, the
// call is only counted as over: a client that is gone takes no replies, its other requests are
// still served, and no reply is sent after the farewell.
func (c *Call) unsent() {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == c {
		s.taken = nil
	}
	switch {
	case s.err != nil:
	case s.rules.Ending.HasBegun():
		c.isOver()
	default:
		s.finish(errUnread)
	}
}

// isOver removes the call from those being served. The session's lock is held.
func (c *Call) isOver() {
	s := c.session
	s.rules.Served.CallEnded(c.head.Stream)
	if s.serving != nil {
		delete(s.serving, c.head.Stream)
	}
	if s.taken == c {
		s.taken = nil
	}
	s.flush()
	s.endIfServed()
	s.ended()
}

var errUnread = errors.New("breezeway: the client does not take replies, and the session was ended")
