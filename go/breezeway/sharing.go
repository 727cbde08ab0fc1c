package breezeway

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/redial"
)

// resends is how often an operation that never ran is begun again, as in Rust. The server of a new
// session may already have left its address to a successor without the client knowing.
const resends = 16

// sharing holds one session for many users. It dials the session on demand, and a new one after the
// session has ended or its server goes away. If its server goes away, a session is closed once it
// is idle.
type sharing struct {
	addresses string
	opts      []DialOption

	mu      sync.Mutex
	current *Session
	leaving map[*Session]struct{}
	dialing *dialling // the Dial in progress
	stop    func()    // cancels it
	closed  bool
	// triedFirst is the time of the last attempt at the first address by a session at another one;
	// zero without such an attempt to repeat. trying is true during an attempt.
	triedFirst time.Time
	trying     bool
	every      time.Duration
}

// A dialling is a Dial with several goroutines that wait for its result.
type dialling struct {
	ended chan struct{}
	// err is the reason for the missing session, once ended is closed. It is nil if the reason
	// concerns only the caller that dialled.
	err error
}

// get returns the session, and true if this call has dialled it. Each caller waits within its own
// context, without the lock.
func (s *sharing) get(ctx context.Context) (session *Session, isNew bool, err error) {
	for began := (time.Time{}); ; {
		s.mu.Lock()
		current, dialing, closed := s.current, s.dialing, s.closed
		if !s.triedFirst.IsZero() && !s.trying && time.Since(s.triedFirst) >= s.every {
			s.trying = true
			go s.tryFirst()
		}
		if current == nil && dialing == nil && !closed {
			s.dialing = &dialling{ended: make(chan struct{})}
		}
		s.mu.Unlock()
		switch {
		case closed:
			return nil, false, net.ErrClosed
		case current != nil:
			return current, false, nil
		}
		if began.IsZero() {
			began = time.Now()
		}
		if dialing == nil {
			session, err := s.dial(ctx, began)
			return session, true, err
		}
		select {
		case <-dialing.ended:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		if dialing.err != nil && s.hasWaited(began) {
			return nil, false, dialing.err
		}
	}
}

// hasWaited returns true if a caller that began then has waited for a server as long as the options
// allow.
func (s *sharing) hasWaited(began time.Time) bool {
	set, _ := dialOptions(s.opts)
	return time.Since(began) >= set.waitForServer
}

func (s *sharing) dial(ctx context.Context, began time.Time) (*Session, error) {
	within, stop := context.WithCancel(ctx)
	defer stop()
	s.mu.Lock()
	if s.stop = stop; s.closed {
		stop()
	}
	s.mu.Unlock()
	session, err := dialWaiting(within, s.addresses, s.opts, began)
	if !s.dialled(ctx, session, err) {
		if err == nil {
			_ = session.Close()
		}
		return nil, net.ErrClosed
	}
	return session, err
}

// dialled records the result of a Dial. It returns false if the sharing was closed.
func (s *sharing) dialled(ctx context.Context, session *Session, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() == nil && !s.closed {
		s.dialing.err = err
	}
	close(s.dialing.ended)
	s.dialing, s.stop = nil, nil
	if !s.closed {
		s.setCurrent(session)
	}
	return !s.closed
}

// setCurrent sets the session in use. After nil, the next caller dials. The lock is held.
func (s *sharing) setCurrent(session *Session) {
	s.current, s.triedFirst = session, time.Time{}
	if session == nil || session.session.opts.returnToFirst == 0 {
		return
	}
	if list, err := ParseAddresses(s.addresses); err == nil && session.address != list[0] {
		s.triedFirst, s.every = time.Now(), session.session.opts.returnToFirst
	}
}

// tryFirst moves to the first address if a server has returned there.
func (s *sharing) tryFirst() {
	first, _, _ := strings.Cut(s.addresses, ",")
	session, err := Dial(context.Background(), first, s.opts...)
	if !s.tried(session, err) && err == nil {
		_ = session.Close()
	}
}

// tried records the result of tryFirst. It returns false if the attempt is out of date.
func (s *sharing) tried(session *Session, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trying = false
	switch {
	case s.triedFirst.IsZero() || s.closed:
		return false
	case err == nil:
		s.leave()
		s.setCurrent(session)
	default:
		s.triedFirst = time.Now()
	}
	return true
}

// dialWaiting is Dial with retries until the limit of the option WithWaitForServer, counted from
// began.
func dialWaiting(ctx context.Context, addresses string, opts []DialOption,
	began time.Time) (*Session,
	error) {
	session, err := Dial(ctx, addresses, opts...)
	set, invalid := dialOptions(opts)
	if err == nil || invalid != nil || set.waitForServer == 0 {
		return session, err
	}
	within, stop := context.WithDeadline(ctx, began.Add(set.waitForServer))
	defer stop()
	for pauses := (redial.Pauses{}); err != nil && mayPass(err) && within.Err() == nil; {
		if pauses.Await(within); ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		session, err = Dial(ctx, addresses, opts...)
	}
	return session, err
}

// mayPass returns true if a later attempt may succeed, since a server may be about to start or
// restart.
func mayPass(err error) bool {
	for _, passing := range []error{unix.ENOENT, unix.ECONNREFUSED, unix.ECONNRESET, unix.EAGAIN,
		errHandshakeClosed, os.ErrDeadlineExceeded} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var refused *RefusedError
	return errors.As(err, new(*TLSError)) && isCut(err) ||
		errors.As(err, &refused) && refused.Status == proto.RefusedBusy
}

// forget makes the next caller dial. A live session is left to what is in flight on it.
func (s *sharing) forget(session *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == session {
		s.leave()
	}
}

// leave retires the current session, which is closed once it is idle. The lock is held.
func (s *sharing) leave() {
	session := s.current
	s.setCurrent(nil)
	if s.leaving == nil {
		s.leaving = map[*Session]struct{}{}
	}
	s.leaving[session] = struct{}{}
	go func() {
		session.session.closeOnceIdle()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.leaving, session)
	}()
}

// close closes all sessions, with all that is in flight on them.
func (s *sharing) close() {
	s.mu.Lock()
	s.closed = true
	if s.stop != nil {
		s.stop()
	}
	sessions := make([]*Session, 0, len(s.leaving)+1)
	if s.current != nil {
		sessions = append(sessions, s.current)
		s.setCurrent(nil)
	}
	for session := range s.leaving {
		sessions = append(sessions, session)
	}
	s.mu.Unlock()
	for _, session := range sessions {
		_ = session.Close()
	}
}

// mayGoOn returns true if an operation that never ran may be begun on another session. If a session
// that was just dialled has died, another one would as well.
func mayGoOn(ctx context.Context, session *Session, isNew bool, tries int) bool {
	return (!isNew || session.isGoingAway()) && tries < resends && ctx.Err() == nil
}

// closeOnceIdle drives a session without new calls and streams until it is idle, and closes it
// (docs/abi.md, section 1.2).
func (s *session) closeOnceIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = true
	for {
		_ = s.waitUntil(s.mayLeave, limit{})
		if !s.isClient && s.err == nil && s.takeCommitted() {
			continue
		}
		if s.err != nil || s.openStreams == 0 {
			break
		}
		// A caller that accepts one stream after the other may be about to return.
		until := limit{deadline: time.Now().Add(linger)}
		if s.waitUntil(func() bool { return !s.isLeftAlone() }, until) != nil && s.mayLeave() {
			break
		}
	}
	s.closeLocked() // The lock stays held, so that no call begins in between.
}

// takeCommitted waits until a turn has found no entry, so that requests that the client committed
// before are served. It returns true if one of them is not over.
func (s *session) takeCommitted() bool {
	s.seeksEmpty = true
	if s.isDriven() {
		s.interrupt()
	} else {
		s.look()
	}
	_ = s.waitUntil(func() bool { return !s.seeksEmpty || s.ending() != nil }, limit{})
	s.seeksEmpty = false
	return s.err == nil && !s.mayLeave()
}

// mayLeave returns true once calls and streams are over and the peer has accepted what was sent. A
// session that its client has shut down ends after its last reply instead.
func (s *session) mayLeave() bool {
	switch {
	case s.ending() != nil || s.isUnderWay():
		return false
	case s.hasBacklog():
		s.limitLastReplies()
		return false
	}
	return true
}

// isUnderWay returns true while a call or a stream is not over.
func (s *session) isUnderWay() bool {
	return !s.rules.IsIdle() || (s.openStreams > 0 || s.hasArrival()) && !s.isLeftAlone()
}

// isLeftAlone returns true if a client has only streams of the server that no caller accepts.
func (s *session) isLeftAlone() bool {
	if !s.isClient || len(s.acceptWaiters) > 0 {
		return false
	}
	open := 0
	for _, a := range s.arrivals[s.arrivalFirst:] {
		if a.stream != nil && !a.stream.isOver {
			open++
		}
	}
	return s.openStreams == open
}

// ended makes closeOnceIdle and finishCalls check their conditions: a call or a stream has ended,
// or an arrival was taken up.
func (s *session) ended() {
	if s.leaving || s.rules.Served.HasStopped() {
		s.wakeEnding()
	}
}

func (s *session) wakeEnding() {
	s.followers.wakeAll()
	if s.isDriven() {
		s.interrupt()
	}
}
