package breezeway

import (
	"context"
	"errors"
)

// A Client makes calls on one session that any number of goroutines share, which is dialled when
// somebody calls, and again once it is over or its server goes away: so a server can be restarted,
// and callers notice nothing (docs/restarting.md). A call that never ran is made again, on the new
// session; one that may have run is not, and MayHaveRun says which it was.
//
// Before each call that is alone it reads the session's socket, which takes a system call that a
// Conn goes without.
type Client struct{ sessions sharing }

// NewClient gives a client of the first of the addresses, separated by commas, that can be had when
// it calls.
func NewClient(addresses string, opts ...Option) *Client {
	return &Client{sharing{addresses: addresses, opts: opts}}
}

// Call is Conn.Call.
func (c *Client) Call(ctx context.Context, method uint32, request []byte) (Reply, error) {
	return c.call(ctx, method, outgoing{bytes: request})
}

// CallWithMetadata is Conn.CallWithMetadata.
func (c *Client) CallWithMetadata(ctx context.Context, method uint32, metadata, request []byte) (
	Reply, error) {
	return c.call(ctx, method, outgoing{metadata: metadata, hasMetadata: true, bytes: request})
}

func (c *Client) call(ctx context.Context, method uint32, out outgoing) (reply Reply, err error) {
	err = c.sessions.try(ctx, func(conn *Conn) (bool, error) {
		attempt := out
		err := conn.session.call(ctx, method, &attempt, &reply)
		var failure *CallError
		refused := errors.As(err, &failure) && failure.Code == CodeRefused && conn.isGoingAway()
		return !attempt.sent || refused, err
	})
	return reply, err
}

// Post is Conn.Post.
func (c *Client) Post(ctx context.Context, method uint32, message []byte) error {
	return c.sessions.try(ctx, func(conn *Conn) (bool, error) {
		err := conn.Post(ctx, method, message)
		return err != nil, err
	})
}

// Open is Conn.Open. The stream ends on the session on which it was opened, also if that one's
// server goes away.
func (c *Client) Open(ctx context.Context, method uint32) (*Stream, error) {
	return c.open(ctx, method, outgoing{})
}

// OpenWithMetadata is Conn.OpenWithMetadata.
func (c *Client) OpenWithMetadata(ctx context.Context, method uint32, metadata []byte) (*Stream,
	error) {
	return c.open(ctx, method, outgoing{metadata: metadata, hasMetadata: true})
}

func (c *Client) open(
	ctx context.Context, method uint32, out outgoing,
) (stream *Stream, err error) {
	err = c.sessions.try(ctx, func(conn *Conn) (bool, error) {
		attempt := out
		stream, err = conn.session.openStream(ctx, method, &attempt)
		return !attempt.sent, err
	})
	return stream, err
}

// Conn gives the session on which a call would be made now.
func (c *Client) Conn(ctx context.Context) (conn *Conn, err error) {
	err = c.sessions.try(ctx, func(now *Conn) (bool, error) {
		conn = now
		return true, now.mayBegin()
	})
	return conn, err
}

// Close closes its session, and whatever is under way on it or on those that go away. Calls give
// net.ErrClosed from then on.
func (c *Client) Close() error {
	c.sessions.close()
	return nil
}

// MayHaveRun says of a failed call whether the server may have served it all the same.
func MayHaveRun(err error) bool {
	var failure *CallError
	if errors.As(err, &failure) {
		return failure.Code != CodeRefused
	}
	return err != nil && !errors.Is(err, ErrGoingAway) && !errors.As(err, new(*neverSentError))
}

// neverSentError is that of what never left.
type neverSentError struct{ error }

func (e *neverSentError) Unwrap() error { return e.error }

// try does something on the session, and again on a new one where it never left, if the session is
// over or goes away.
func (s *sharing) try(ctx context.Context, do func(conn *Conn) (neverRan bool, err error)) error {
	for tries := 0; ; tries++ {
		conn, isNew, err := s.get(ctx)
		if err != nil {
			return &neverSentError{err}
		}
		conn.session.catchUpIfIdle()
		neverRan, err := do(conn)
		if err == nil {
			return nil
		}
		goesOn := conn.mayBegin() == nil
		if !goesOn {
			s.forget(conn)
		}
		switch {
		case neverRan && !goesOn && mayGoOn(ctx, conn, isNew, tries):
			continue
		case neverRan:
			return &neverSentError{err}
		}
		return err
	}
}

// mayBegin says why nothing new may be begun.
func (c *Conn) mayBegin() error {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return c.session.mayBegin(&outgoing{})
}

func (c *Conn) isGoingAway() bool {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return c.session.rules.IsGoingAway()
}

// catchUpIfIdle is catchUp of a session on which no call is under way, whose callers would read.
func (s *session) catchUpIfIdle() {
	s.mu.Lock()
	idle := s.rules.Calls.InFlight() == 0
	s.mu.Unlock()
	if idle {
		s.catchUp()
	}
}
