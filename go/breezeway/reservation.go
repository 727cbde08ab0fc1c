package breezeway

import (
	"context"
	"io"
	"runtime"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// A Reservation is space for one message, which is filled in place. In shared memory, the peer can
// read a reservation of more than 104 bytes before it is sent. Its initial content is zeros, or
// bytes that this session has written there before.
//
// A Reservation is an io.Writer, so that encoders can write into it. If the length is not known in
// advance, reserve enough and truncate. Send or abandon each reservation; if a send fails, send it
// again or abandon it. The garbage collector eventually abandons a reservation that is unreachable.
type Reservation struct {
	session *session
	length  int
	start   int // of the message, behind its metadata block
	private []byte
	isLoan  bool
	loan    shm.Loan

	mu      sync.Mutex
	written int
	gone    bool
}

// Len returns the length in bytes.
func (r *Reservation) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.length
}

// WriteAt implements [io.WriterAt].
func (r *Reservation) WriteAt(bytes []byte, at int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writeAt(bytes, at)
}

func (r *Reservation) writeAt(bytes []byte, at int64) (int, error) {
	if r.gone {
		return 0, ErrSent
	}
	if at < 0 {
		return 0, errNegativeOffset
	}
	n := max(min(len(bytes), r.length-int(min(at, int64(r.length)))), 0)
	if r.isLoan && n > 0 {
		r.loan.CopyIn(int(at), bytes[:n])
	} else if !r.isLoan {
		copy(r.private[min(at, int64(r.length)):], bytes[:n])
	}
	if n < len(bytes) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// Write writes bytes behind those of the last Write.
func (r *Reservation) Write(bytes []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.writeAt(bytes, int64(r.written))
	r.written += n
	return n, err
}

// Truncate keeps only the first n bytes. It has no effect if the reservation is not longer.
// r.Truncate(r.Written()) cuts the reservation to the bytes of Write.
func (r *Reservation) Truncate(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n = max(n, 0); r.gone || n >= r.length {
		return
	}
	r.length, r.written = n, min(r.written, n)
	if r.isLoan {
		r.loan.Truncate(n)
	} else {
		r.private = r.private[:n]
	}
}

// Written returns the number of bytes that Write has written.
func (r *Reservation) Written() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written
}

// Abandon frees the space, unless the reservation was sent.
func (r *Reservation) Abandon() {
	if !r.take() {
		return
	}
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.isLoan && !s.freed {
		s.memory.end.Abandon(r.loan)
		s.wakeRoom() // The peer does not ring for it.
	}
	r.drop()
}

// abandonIfForgotten has the garbage collector abandon an unreachable reservation.
func (r *Reservation) abandonIfForgotten() {
	if r.isLoan {
		runtime.SetFinalizer(r, (*Reservation).Abandon)
	}
}

// take claims the reservation for one send or Abandon, and blocks further writes. It returns false
// if the reservation is claimed already.
func (r *Reservation) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.gone
	r.gone = true
	return !was
}

// untake reverts take after a send that failed.
func (r *Reservation) untake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = false
}

func (r *Reservation) drop() {
	if r.isLoan {
		runtime.SetFinalizer(r, nil)
		r.loan.Drop()
	}
}

// sentOr ends the reservation if err is nil, and reverts take otherwise.
func (r *Reservation) sentOr(err error) {
	if err != nil {
		r.untake()
		return
	}
	r.drop()
}

// CallFilled makes a call like [Client.Call] with a request of n bytes that fill writes where they
// are sent from: in shared memory, the server can read them immediately. A metadata block that is
// not nil goes with the request. The initial content of the space is arbitrary; fill writes all of
// it, and does not keep it. If fill fails, nothing is sent. It is called again if the call never
// ran and is repeated on a new session.
func (c *Client) CallFilled(ctx context.Context, method uint32, metadata []byte, n int,
	fill func(space []byte) error) (reply Message, err error) {
	err = c.sessions.try(ctx, func(session *Session) (bool, error) {
		out := outgoing{metadata: metadata, hasMetadata: metadata != nil}
		err := session.session.callFilled(ctx, method, &out, n, fill, &reply)
		return session.neverRan(&out, err), err
	})
	return reply, err
}

// callFilled makes a call. It takes the call's place first, so that callers wait for one without
// memory, and small calls find some.
func (s *session) callFilled(ctx context.Context, method uint32, out *outgoing, n int,
	fill func(space []byte) error, reply *Message) error {
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
