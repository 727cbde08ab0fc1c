package breezeway

import (
	"context"
	"runtime"
	"time"
)

// look reads the socket of a session that is polled.
func (s *session) look() {
	if err := s.link.awake(); err != nil {
		s.note(err)
	}
}

// hush reads the doorbells that announcements have caused before they exceed the socket's buffer.
// The announcing goroutine need not be the one that sleeps in the poller and reads them. A doorbell
// for that one may be among them, so it is interrupted.
func (s *session) hush() {
	if s.memory == nil || !s.memory.end.IsRungOut() {
		return
	}
	s.look()
	if s.inPoller {
		s.interrupt()
	}
}

// catchUpTurns bounds the turns of a goroutine that does not wait: the peer may send without end.
const catchUpTurns = 64

// catchUp takes arrived entries if no goroutine drives. A session without waiters notices the
// peer's end only here. Entries beyond catchUpTurns turns are left for the next call.
func (s *session) catchUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeTurns(catchUpTurns, true)
}

// takeTurns takes arrived entries if no goroutine drives, in at most most turns. The turn that
// finds no entry notices the peer's end. If looks is set, the socket is read before each turn,
// since one read may end before the peer's end.
func (s *session) takeTurns(most int, looks bool) {
	if s.leading || s.err != nil {
		return
	}
	s.leading = true
	for turns := 0; turns < most && s.err == nil; turns++ {
		if turns > 0 && !s.rules.AwaitsPeer() {
			break
		}
		if looks {
			s.look()
		}
		if s.err != nil || !s.turn() {
			break
		}
	}
	s.leading = false
	if s.err != nil {
		s.free()
	}
	s.promote()
}

// note ends the session after an error. After a shortage, the driver pauses instead.
func (s *session) note(err error) {
	if s.short = isShortage(err); !s.short {
		s.finish(err)
	}
}

var longAgo = time.Unix(1, 0)

// park sleeps in the network poller until the socket is ready or the limit is reached. The lock is
// held before and after, but not during the sleep.
func (s *session) park(lim *limit) {
	s.inPoller = true
	s.parking, s.resumed, s.processors = 0, false, runtime.GOMAXPROCS(0)
	if s.dirty.Swap(false) || !s.armed.Equal(lim.deadline) {
		s.armed = lim.deadline
		_ = s.conn.SetReadDeadline(lim.deadline) // A read reports a connection that is over.
	}
	var stop func() bool
	if lim.ctx != nil {
		stop = context.AfterFunc(lim.ctx, s.interrupt)
	}
	s.publishSleep()
	s.mu.Unlock()
	err := s.raw.Read(s.parkFn)
	if stop != nil {
		stop()
	}
	s.mu.Lock()
	s.inPoller, s.record.waitsFor = false, 0
	if err != nil {
		// This is a deadline, of the limit or of an interrupt, or the end of the connection; a read
		// distinguishes them.
		s.dirty.Store(true)
		if s.err == nil {
			s.look()
		}
	}
}

// interrupt makes the parked waiter check its condition.
func (s *session) interrupt() {
	if s.over.Load() {
		return // The connection was shut down, and is closed without the lock.
	}
	s.dirty.Store(true)
	_ = s.conn.SetReadDeadline(longAgo)
}

// shortagePause is how long a session waits for descriptors or memory of this process, whose return
// is not reported.
const shortagePause = 10 * time.Millisecond

func (s *session) pause() {
	s.short = false
	s.mu.Unlock()
	time.Sleep(shortagePause)
	s.mu.Lock()
	s.look()
}

// parkOnce is called by the poller before and after it sleeps. One read of the socket per sleep is
// enough: later input is read by the next one.
func (s *session) parkOnce(uintptr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return true
	}
	s.parking++
	if s.parking > 1 {
		return true
	}
	if s.standing != nil && s.leading {
		s.look() // Another waiter drives, and notices the peer's end.
		return s.err != nil || s.link.isClosed()
	}
	asleep, err := s.link.prepareSleep()
	s.keepWriting()
	if err != nil {
		s.note(err)
		return true
	}
	return !s.maySleep(asleep)
}

// maySleep returns true if a driver that has announced its sleep may sleep, as far as waiters for
// room are concerned.
func (s *session) maySleep(announced bool) bool {
	if !announced || len(s.roomWaiters) > 0 && s.mayHaveRoom() {
		return false
	}
	if s.rules.IsDue() {
		s.link.armRoom(s.memoryWaits > 0)
		return !s.mayHaveRoom()
	}
	return true
}

// mayHaveRoom returns true if a turn would find room, or an error.
func (s *session) mayHaveRoom() bool {
	has, err := s.link.hasRoom()
	return has || err != nil
}
