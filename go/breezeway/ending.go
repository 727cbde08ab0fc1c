package breezeway

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// finish ends the session and wakes all waiters. The lock is held.
func (s *session) finish(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	s.over.Store(true)
	if s.lateness != nil {
		s.lateness.Stop()
	}
	close(s.done)
	s.retire()
	hangUp(s.raw)
	s.followers.wakeAll()
	s.wakeCallers()
	s.cancelServing(err)
	s.endStreams()
	if !s.leading {
		s.free()
	}
}

// end ends the session after an error. A server's session first serves all requests that came
// before the peer's end.
func (s *session) end(err error) {
	switch {
	case s.isClient:
		s.finish(err)
	case errors.Is(err, ErrPeerClosed):
		s.beginEnd()
		s.endIfServed()
	case errors.Is(err, ErrPeerDied):
		s.beginEnd()
		s.clientIsGone()
	default:
		s.finish(err)
	}
}

// beginEnd ends everything but the calls that came before a client's end: it stops reading and ends
// the streams.
func (s *session) beginEnd() {
	s.link.stop()
	s.endStreams()
	s.wakeRoom()
	s.followers.wakeAll()
}

// clientIsGone cancels the handlers' contexts, since no caller waits for their replies.
func (s *session) clientIsGone() {
	s.rules.Ending.Gone()
	s.cancelServing(s.ending())
	s.wakeRoom()
	s.endIfServed()
}

// awaitGone looks for the end of the connection after a client's shutdown. It returns true when it
// first finds it.
func (s *session) awaitGone() bool {
	isNew := s.link.isClosed() && !s.rules.Ending.IsGone()
	if isNew {
		s.clientIsGone()
	}
	return isNew
}

// ending returns the error of the session's end by the peer, or nil. Requests from before the end
// may still be served.
func (s *session) ending() error {
	switch {
	case s.rules.Ending.HasClosed():
		return ErrPeerClosed
	case s.rules.Ending.IsGone():
		return ErrPeerDied
	}
	return nil
}

// endError returns the error after which only calls that are being served continue, or nil.
func (s *session) endError() error {
	if s.err != nil {
		return s.err
	}
	return s.ending()
}

func (s *session) cancelServing(err error) {
	for _, call := range s.serving {
		call.ctx.cancel(err)
	}
	if s.taken != nil {
		s.taken.ctx.cancel(err)
	}
}

// endIfServed ends a session that its peer has ended and that has nothing left to serve. Replies in
// the backlog of a client's socket are written first.
func (s *session) endIfServed() {
	if s.rules.Ending.IsByPeer() {
		s.endByPeer()
	}
}

func (s *session) endByPeer() {
	switch {
	case !s.rules.IsServed():
	case s.hasBacklog() && s.rules.Ending.RepliesWait():
		s.limitLastReplies()
	default:
		s.finish(s.ending())
	}
}

// limitLastReplies lets replies wait at the session's end for as long as the peer accepts some
// within each linger.
func (s *session) limitLastReplies() {
	if s.lateness != nil {
		if len(s.roomWaiters) == 0 && !s.hasBacklog() {
			_, _ = s.hasRoom() // The peer may have made room while no reply waited for it.
		}
		return
	}
	if s.memory != nil {
		s.memory.hasProgressed() // What the peer has consumed before does not count.
	}
	s.lateness = time.AfterFunc(s.linger, s.lingered)
}

// lingered ends a session if its client has accepted nothing since limitLastReplies although
// replies wait.
func (s *session) lingered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endIfLate()
}

func (s *session) endIfLate() {
	s.lateness = nil
	s.writeUnasked()
	if s.err == nil && len(s.roomWaiters) > 0 {
		_, _ = s.hasRoom() // A waiter finds an error again.
	}
	if s.memory != nil && s.memory.hasProgressed() {
		s.rules.Ending.RoomMade() // Less than a waiter waits for counts as well.
	}
	switch {
	case s.err != nil:
	case len(s.roomWaiters) == 0 && !s.hasBacklog(), s.ending() == nil && s.isUnderWay(),
		s.rules.Ending.IsOwn(): // close limits its wait itself.
		s.written()
	case s.hasOverdueReply():
		s.lateness = time.AfterFunc(lookAgain, s.lingered) // That reply fails before the session.
	case !s.rules.Ending.RepliesElapsed():
		s.limitLastReplies()
	case s.ending() == nil && !s.isClient:
		s.finish(errUnread)
	default:
		hangUp(s.raw)
		s.end(ErrPeerDied)
	}
}

// hasOverdueReply returns true if a reply waits past its time, because its waiter has yet to run.
func (s *session) hasOverdueReply() bool {
	now := time.Now()
	return slices.ContainsFunc(s.roomWaiters, func(w *waiter) bool {
		return !w.until.IsZero() && !now.Before(w.until)
	})
}

// free releases the resources of the session. No goroutine drives it, or will. A waiter that stands
// by in the poller frees them when it leaves.
func (s *session) free() {
	if s.freed || s.standing != nil {
		return
	}
	s.freed = true
	runtime.SetFinalizer(s.leash, nil)
	s.link.close()
	for ; s.arrivalFirst < len(s.arrivals); s.arrivalFirst++ {
		s.arrivals[s.arrivalFirst].message.Release()
	}
	everyExit.forget(s.exit)
	s.letGo()
}

// inOrder returns true if err is the end of a session that either side has closed.
func inOrder(err error) bool { return errors.Is(err, ErrClosed) || errors.Is(err, ErrPeerClosed) }

// close ends the session in order, as far as the peer can still be reached.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
}

// closeLocked is close with the lock held.
func (s *session) closeLocked() {
	if s.err != nil {
		return
	}
	// If the ring is full or the peer dead, the peer sees the end of file instead.
	_ = s.transmit(proto.Head{Kind: proto.KindShutdown}, &outgoing{})
	s.rules.Ending.SaidShutdown()
	if s.socket != nil {
		s.socket.bye()
	}
	s.flush()
	isWritten := func() bool { return !s.hasBacklog() }
	_ = s.waitUntil(isWritten, limit{deadline: time.Now().Add(s.linger)})
	s.writeUnasked()
	s.finish(ErrClosed)
}

func (s *session) hasBacklog() bool {
	return s.socket != nil && s.err == nil && s.unwritten() > 0
}

// unwritten returns the number of bytes that the socket has not accepted.
func (s *session) unwritten() int { return len(s.socket.out) - s.socket.sent }

// writeBacklog writes the bytes that the socket did not accept at once.
func (s *session) writeBacklog() {
	_ = s.raw.Write(func(fd uintptr) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err != nil {
			return true
		}
		s.write(fd)
		if has, _ := s.link.hasRoom(); has {
			s.settle()
			if len(s.roomWaiters) > 0 {
				s.wakeRoom()
				s.interrupt() // One of them may be parked to read.
			}
			s.write(fd) // Over TCP, only a write that finds no room is followed by an event.
		}
		return s.socket.sent == len(s.socket.out)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.socket.writing = false
	if s.err == nil {
		s.flush()
		s.written()
	}
}

// write writes as much of the backlog as the socket accepts.
func (s *session) write(fd uintptr) {
	left := s.unwritten()
	if s.socket.write(fd); s.unwritten() < left {
		s.rules.Ending.RoomMade()
	}
}

// writeUnasked writes without an event of the poller, which reports room only once three quarters
// of the socket's buffer are free.
func (s *session) writeUnasked() {
	if s.hasBacklog() {
		_ = s.raw.Control(s.write)
	}
}

// written wakes waiters after the backlog was written, and ends the session if that is due.
func (s *session) written() {
	s.followers.wakeAll()
	s.interrupt()
	s.endIfServed()
}
