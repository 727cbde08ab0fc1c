package breezeway

import "context"

// CallFilled makes a call like [Client.Call] with a request of n bytes that fill writes where they
// are sent from: in shared memory, the server can read them immediately. A metadata block that is
// not nil goes with the request. The initial content of the space is arbitrary; fill writes all of
// it, and does not keep it. If fill fails, nothing is sent. It is called again if the call never
// ran and is repeated on a new session.
func (c *Client) CallFilled(ctx context.Context, method uint32, metadata []byte, n int,
	fill func(space []byte) error) (reply Reply, err error) {
	err = c.sessions.try(ctx, func(conn *Conn) (bool, error) {
		out := outgoing{metadata: metadata, hasMetadata: metadata != nil}
		err := conn.session.callFilled(ctx, method, &out, n, fill, &reply)
		return conn.neverRan(&out, err), err
	})
	return reply, err
}

// callFilled makes a call. It takes the call's place first, so that callers wait for one without
// memory, and small calls find some.
func (s *session) callFilled(ctx context.Context, method uint32, out *outgoing, n int,
	fill func(space []byte) error, reply *Reply) error {
	lim := s.callLimit(ctx)
	s.mu.Lock()
	err := s.waitToBegin(out, &lim)
	if err == nil {
		s.rules.Calls.Hold()
	}
	s.mu.Unlock()
	if err != nil {
		return timedOut(err)
	}
	holds := true
	defer func() {
		if holds {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.rules.Calls.Unhold()
			s.callEnded()
		}
	}()
	if err := s.fillSpace(out, n, fill, lim); err != nil {
		return err
	}
	defer out.endFilled()
	s.mu.Lock()
	holds = false
	s.rules.Calls.Unhold()
	if err := s.waitToBegin(out, &lim); err != nil { // It has room.
		s.callEnded()
		s.mu.Unlock()
		return timedOut(err)
	}
	p, w, err := s.sendRequest(method, out, &lim)
	if err != nil {
		s.mu.Unlock()
		return timedOut(err)
	}
	return timedOut(s.waitForReply(w, p, &lim, reply))
}

// ReplyFilled sends a reply of n bytes that fill writes where they are sent from, like
// [Client.CallFilled]. A metadata block that is not nil goes with the reply. If fill fails, the
// handler may send another reply.
func (c *Call) ReplyFilled(metadata []byte, n int, fill func(space []byte) error) error {
	if c.replied || c.IsOneWay() {
		return c.send(0, 0, &outgoing{})
	}
	out := outgoing{metadata: metadata, hasMetadata: metadata != nil}
	if err := c.session.fillSpace(&out, n, fill, c.replyLimit()); err != nil {
		return c.notReplied(err)
	}
	defer out.endFilled()
	return c.reply(&out)
}

// SendFilled sends a message of n bytes that fill writes where they are sent from, like
// [Client.CallFilled].
func (t *Stream) SendFilled(ctx context.Context, n int, fill func(space []byte) error) error {
	var out outgoing
	lim := limitOf(ctx)
	if err := t.waitForWindow(lim, &out); err != nil {
		return timedOut(err)
	}
	if err := t.session.fillSpace(&out, n, fill, lim); err != nil {
		return err
	}
	defer out.endFilled()
	return timedOut(t.sendWithin(lim, &out, false))
}

// waitForWindow waits until the stream's window admits a message, so that its sender waits without
// memory. Another sender may use the window up again.
func (t *Stream) waitForWindow(lim limit, out *outgoing) error {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.waitToSend(lim, out)
}

// fillSpace reserves space for a message of n bytes behind the metadata of out, and has it written.
// The caller ends the reservation by endFilled.
func (s *session) fillSpace(out *outgoing, n int, write func(space []byte) error, lim limit) error {
	if err := s.checkMetadata(out); err != nil {
		return err
	}
	r, err := s.reserveSpace(out.prefixLen()+n, lim)
	if err != nil {
		return err
	}
	defer func() {
		if out.reserved == nil {
			r.Abandon()
		}
	}()
	if err := lim.err(); err != nil {
		return timedOut(err) // The caller may be gone, and change the message.
	}
	r.start = out.prefixLen()
	space := r.private
	if r.isLoan {
		space = r.loan.Space()
	}
	out.writePrefix(space)
	if err := write(space[r.start:]); err != nil {
		return err
	}
	out.reserved = r
	return nil
}

// endFilled ends the reservation of a message that fillSpace has had written.
func (o *outgoing) endFilled() {
	if o.sent {
		o.reserved.drop()
	} else {
		o.reserved.Abandon()
	}
}
