package breezeway

import (
	"errors"
	"io"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// transmit publishes a message. After an error nothing was published.
func (s *session) transmit(head proto.Head, out *outgoing) error {
	var err error
	total := out.prefixLen() + out.length()
	if !s.rules.Allows(&head) {
		return s.refusal()
	}
	if s.memory != nil {
		err = s.memory.send(&head, out, total)
	} else {
		err = s.socket.send(head, out)
	}
	if err == nil {
		out.sent = true
		s.record.sent.count(head.Kind, head.Flags, total)
		if r := out.reserved; r != nil && r.isLoan && total <= proto.InlineMax {
			s.wakeRoom() // The entry holds the message, so its memory is free.
		}
	}
	return err
}

// refusal returns the reason why the rules allow no entry.
func (s *session) refusal() error {
	switch {
	case s.ending() != nil:
		return s.ending()
	case s.rules.Ending.HasBegun():
		return ErrClosed
	}
	return ErrGoingAway
}

func (s *session) flush() {
	if s.memory != nil {
		s.memory.flush()
	} else {
		s.socket.flush()
		s.keepWriting()
	}
}

// keepWriting starts a goroutine that writes what the socket did not accept.
func (s *session) keepWriting() {
	if socket := s.socket; socket != nil && !socket.writing && socket.sent < len(socket.out) {
		socket.writing = true
		go s.writeBacklog()
	}
}

func (s *session) take() (taken, progress bool, err error) {
	if s.memory != nil {
		return s.memory.take(&s.in)
	}
	return s.socket.take(&s.in)
}

// send publishes a message and wakes the peer. It waits for room. The lock is held.
func (s *session) send(head proto.Head, out *outgoing, lim *limit) error {
	for {
		if s.err != nil {
			return s.err
		}
		err := s.transmit(head, out)
		if err == nil {
			s.flush()
			return nil
		}
		if err := s.waitForRoom(err, *lim); err != nil {
			return err
		}
	}
}

// waitForRoom waits for the resource that err reports as missing. It returns any other error.
func (s *session) waitForRoom(err error, lim limit) error {
	memory := errors.Is(err, shm.ErrNoMemory)
	if !memory && !errors.Is(err, shm.ErrFull) {
		return s.concerns(err)
	}
	if s.ending() != nil {
		if !lim.isReply || !s.rules.Ending.RepliesWait() {
			return s.ending()
		}
		s.limitLastReplies()
		if !memory && s.opts.offload == 0 { // An offloaded handler holds a place of all sessions.
			lim.deadline = time.Time{} // Only the lateness timer limits room on a ring or a socket.
		}
	}
	w := s.newWaiter()
	defer s.freeWaiter(w)
	w.until = lim.deadline
	if memory {
		s.memoryWaits++
	}
	failed := s.armRoom()
	s.roomWaiters = append(s.roomWaiters, w)
	outcome := s.wait(w, &lim, func() bool {
		if s.err != nil {
			return false // The memory may be unmapped. wait returns the error.
		}
		var has bool
		if failed == nil {
			has, failed = s.hasRoom()
		}
		return has || failed != nil || w.isWoken()
	})
	isFirst := s.isFirstForRoom(w)
	remove(&s.roomWaiters, w)
	if isFirst && len(s.roomWaiters) > 0 {
		s.roomWaiters[0].rouse(false) // The next one polls.
	}
	if memory {
		s.memoryWaits--
		if s.memoryWaits == 0 && !s.freed {
			s.link.disarmRoom()
		}
	}
	if failed != nil {
		return s.concerns(failed)
	}
	return outcome
}

func (s *session) isFirstForRoom(w *waiter) bool {
	return len(s.roomWaiters) > 0 && s.roomWaiters[0] == w
}

// armRoom announces that a goroutine waits for room. All waiters share one announcement, and it
// ignores room made before it. Therefore those that wait for earlier room are woken first.
func (s *session) armRoom() error {
	if s.hush(); s.err != nil {
		return s.err
	}
	if len(s.roomWaiters) > 0 {
		has, err := s.hasRoom()
		if err != nil {
			return err
		}
		if has {
			s.interrupt() // One of the waiters may be parked.
		}
	}
	s.link.armRoom(s.memoryWaits > 0)
	s.keepWriting()
	return nil
}

// concerns ends the session if err is an error of the session.
func (s *session) concerns(err error) error {
	var broken *ViolationError
	if errors.As(err, &broken) || errors.Is(err, io.EOF) {
		s.finish(err)
	}
	return err
}
