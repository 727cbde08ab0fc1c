package breezeway

import (
	"context"
	"errors"
)

// A Client makes calls on one session that any number of goroutines share. It dials the session at
// the first call, and a new one after the session has ended or its server goes away, so that a
// server can be restarted without a failed call (docs/restarting.md). A call that never ran is
// repeated on the new session. A call that may have run is not repeated; see [MayHaveRun].
//
// If no call is in flight, a Client reads the session's socket before it begins one. This costs a
// system call that a [Session] does not make.
type Client struct{ sessions sharing }

// NewClient returns a client of the given addresses, separated by commas. Each dial uses the first
// reachable address.
func NewClient(addresses string, opts ...DialOption) *Client {
	return &Client{sharing{addresses: addresses, opts: opts}}
}

// Call makes a call like [Session.Call].
func (c *Client) Call(ctx context.Context, method uint32, request []byte) (Message, error) {
	return c.call(ctx, method, outgoing{bytes: request})
}

// CallWithMetadata makes a call like [Session.CallWithMetadata].
func (c *Client) CallWithMetadata(ctx context.Context, method uint32, metadata, request []byte) (
	Message, error) {
	return c.call(ctx, method, outgoing{metadata: metadata, hasMetadata: true, bytes: request})
}

func (c *Client) call(ctx context.Context, method uint32, out outgoing) (reply Message, err error) {
	err = c.sessions.try(ctx, func(session *Session) (bool, error) {
		attempt := out
		err := session.session.call(ctx, method, &attempt, &reply)
		return session.neverRan(&attempt, err), err
	})
	return reply, err
}

// neverRan returns true if a call that failed with err never ran.
func (s *Session) neverRan(out *outgoing, err error) bool {
	if !out.sent {
		return true
	}
	if err == nil {
		return false
	}
	var failure *CallError
	return errors.As(err, &failure) && failure.Code == CodeRefused && s.isGoingAway()
}

// Post sends a one-way message like [Session.Post].
func (c *Client) Post(ctx context.Context, method uint32, message []byte) error {
	return c.sessions.try(ctx, func(session *Session) (bool, error) {
		err := session.Post(ctx, method, message)
		return err != nil, err
	})
}

// Open opens a stream like [Session.Open]. The stream stays on its session, even if that session's
// server goes away.
func (c *Client) Open(ctx context.Context, method uint32) (*Stream, error) {
	return c.open(ctx, method, outgoing{empty: true})
}

// OpenWithMetadata opens a stream like [Session.OpenWithMetadata].
func (c *Client) OpenWithMetadata(ctx context.Context, method uint32, metadata []byte) (*Stream,
	error) {
	return c.open(ctx, method, outgoing{metadata: metadata, hasMetadata: true, empty: true})
}

func (c *Client) open(
	ctx context.Context, method uint32, out outgoing,
) (stream *Stream, err error) {
	err = c.sessions.try(ctx, func(session *Session) (bool, error) {
		attempt := out
		stream, err = session.session.openStream(ctx, method, &attempt, false)
		return !attempt.sent, err
	})
	return stream, err
}

// Session returns the session that a call would use now, and dials one if necessary.
func (c *Client) Session(ctx context.Context) (session *Session, err error) {
	err = c.sessions.try(ctx, func(now *Session) (bool, error) {
		session = now
		return true, now.mayBegin()
	})
	return session, err
}

// Close closes the current session and those that are going away, with all that is in flight on
// them. Later calls fail with net.ErrClosed.
func (c *Client) Close() error {
	c.sessions.close()
	return nil
}

// MayHaveRun returns true if the server may have served the call that failed with err.
func MayHaveRun(err error) bool {
	var failure *CallError
	if errors.As(err, &failure) {
		return failure.Code != CodeRefused
	}
	return err != nil && !errors.Is(err, ErrGoingAway) && !errors.As(err, new(*neverSentError))
}

// A neverSentError wraps the error of an operation that was never sent.
type neverSentError struct{ error }

func (e *neverSentError) Unwrap() error { return e.error }

// try runs do on the session. If do never ran there, and the session has ended or its server goes
// away, try repeats it on a new session.
func (s *sharing) try(
	ctx context.Context, do func(session *Session) (neverRan bool, err error),
) error {
	for tries := 0; ; tries++ {
		session, isNew, err := s.get(ctx)
		if err != nil {
			return &neverSentError{err}
		}
		session.session.catchUpIfIdle()
		neverRan, err := do(session)
		if err == nil {
			return nil
		}
		goesOn := session.mayBegin() == nil
		if !goesOn {
			s.forget(session)
		}
		switch {
		case neverRan && !goesOn && mayGoOn(ctx, session, isNew, tries):
			continue
		case neverRan:
			return &neverSentError{err}
		}
		return err
	}
}

// mayBegin returns the reason why no call or stream can begin, or nil.
func (s *Session) mayBegin() error {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	return s.session.mayBegin(&outgoing{})
}

func (s *Session) isGoingAway() bool {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	return s.session.rules.IsGoingAway()
}

// catchUpIfIdle calls catchUp if no call is in flight, since otherwise its caller reads the
// session.
func (s *session) catchUpIfIdle() {
	s.mu.Lock()
	idle := s.rules.Calls.InFlight() == 0
	s.mu.Unlock()
	if idle {
		s.catchUp()
	}
}
