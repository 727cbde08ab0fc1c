package breezeway

import (
	"errors"
	"runtime"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// finish ends the session, and wakes everybody. The lock is held.
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
	s.hangUp()
	s.followers.wakeAll()
	s.wakeCallers()
	s.cancelServing(err)
	s.endStreams()
	if !s.leading {
		s.free()
	}
}

// end ends the session for an error, a server's once it has served all that was asked for before
// the other side's end.
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

// beginEnd ends all but the calls that came before a client's end: nothing more is read, and
// streams are over.
func (s *session) beginEnd() {
	s.link.stop()
	s.endStreams()
	s.wakeRoom()
	s.followers.wakeAll()
}

// clientIsGone has handlers learn that nobody waits for their replies.
func (s *session) clientIsGone() {
	s.rules.Ending.Gone()
	s.cancelServing(s.ending())
	s.wakeRoom()
	s.endIfServed()
}

// awaitGone looks for the end of the connection behind a client's shutdown; true if that has come.
func (s *session) awaitGone() bool {
	isNew := s.link.isClosed() && !s.rules.Ending.IsGone()
	if isNew {
		s.clientIsGone()
	}
	return isNew
}

// ending returns the error by which the other side has ended the session; nil before that. What it
// asked for before may still be served.
func (s *session) ending() error {
	switch {
	case s.rules.Ending.HasClosed():
		return ErrPeerClosed
	case s.rules.Ending.IsGone():
		return ErrPeerDied
	}
	return nil
}

// endError returns the error for which nothing goes on but calls that are served; nil before that.
func (s *session) endError() error {
	if s.err != nil {
		return s.err
	}
	return s.ending()
}

func (s *session) cancelServing(err error) {
	for _, call := range s.serving {
		call.cancel(err)
	}
}

// endIfServed ends a session whose other side has ended it, and for which nothing is left to be
// served. Replies that the socket of a client has not taken are written first.
func (s *session) endIfServed() {
	switch {
	case !s.rules.IsServed():
	case s.hasBacklog() && s.rules.Ending.RepliesWait():
		s.limitLastReplies()
	default:
		s.finish(s.ending())
	}
}

// limitLastReplies lets replies wait at a session's end for as long as the other side takes some
// within linger.
func (s *session) limitLastReplies() {
	if s.lateness != nil {
		return
	}
	s.lateness = time.AfterFunc(s.linger, s.lingered)
}

// lingered ends a session whose client has taken nothing since limitLastReplies, though replies
// wait.
func (s *session) lingered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lateness = nil
	s.writeUnasked()
	switch {
	case s.err != nil:
	case len(s.roomWaiters) == 0 && !s.hasBacklog(), s.ending() == nil && !s.rules.IsIdle():
		s.written()
	case s.rules.Ending.RepliesElapsed():
		s.hangUp()
		s.end(ErrPeerDied)
	default:
		s.limitLastReplies()
	}
}

// free lets go of all that the session has. Nobody drives it, or will. Who stands by in the poller
// does it when it has left that.
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

// inOrder says whether a session that ended so was closed by one of both sides.
func inOrder(err error) bool { return errors.Is(err, ErrClosed) || errors.Is(err, ErrPeerClosed) }

// close ends the session in order, as far as the other side can still be reached.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	// A full ring or a dead peer: the end of file says the same, less politely.
	_ = s.transmit(proto.Head{Kind: proto.KindShutdown}, &outgoing{})
	s.rules.Ending.SaidShutdown()
	if s.socket != nil {
		s.socket.bye()
	}
	s.flush()
	if until := time.Now().Add(s.linger); s.hasBacklog() {
		w := s.newWaiter()
		_ = s.wait(w, limit{deadline: until}, func() bool { return !s.hasBacklog() })
		s.freeWaiter(w)
		s.writeUnasked()
	}
	s.finish(ErrClosed)
}

func (s *session) hasBacklog() bool {
	return s.socket != nil && s.err == nil && s.unwritten() > 0
}

// unwritten is how many bytes the socket has not taken.
func (s *session) unwritten() int { return len(s.socket.out) - s.socket.sent }

// writeBacklog writes what a socket did not take at once.
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
			s.write(fd) // Over TCP, only who finds no room is told of some.
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

// write has a socket take what it takes of the backlog.
func (s *session) write(fd uintptr) {
	left := s.unwritten()
	if s.socket.write(fd); s.unwritten() < left {
		s.rules.Ending.RoomMade()
	}
}

// writeUnasked is write without an event of the poller, which reports room only once three quarters
// of the socket's buffer are free.
func (s *session) writeUnasked() {
	if s.hasBacklog() {
		_ = s.raw.Control(s.write)
	}
}

// written wakes waiters for a backlog that was written, and ends the session if that is due.
func (s *session) written() {
	s.followers.wakeAll()
	s.interrupt()
	s.endIfServed()
}
