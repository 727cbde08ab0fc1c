package breezeway

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exits notifies sessions of servers when the client's process has exited (SO_PEERPIDFD, Linux
// 6.5), even if a child of that process holds the socket. One goroutine waits for all processes.
type exits struct {
	mu      sync.Mutex
	epoll   int
	poller  *os.File // the same descriptor, in which the goroutine sleeps; nil until needed
	watched map[uint64]*exit
	last    uint64
}

// An exit is a watched process.
type exit struct {
	process int      // the process's descriptor
	session *session // nil until there is one
	isOver  bool
}

var everyExit exits

// watch begins to watch the process that has connected, and returns its number. Without support by
// the kernel it returns 0, and only the end of file reports the exit.
func (e *exits) watch(raw syscall.RawConn) (uint64, error) {
	process, failed := -1, error(nil)
	err := raw.Control(func(fd uintptr) {
		process, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	})
	if err != nil || failed != nil {
		return 0, unwatched(failed)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// The key is not the descriptor, since its number is reused.
	number := e.last + 1
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(number), Pad: int32(number >> 32)}
	err = e.begin()
	if err == nil {
		err = unix.EpollCtl(e.epoll, unix.EPOLL_CTL_ADD, process, &event)
	}
	if err != nil {
		unix.Close(process)
		return 0, unwatched(err)
	}
	e.watched[number], e.last = &exit{process: process}, number
	return number, nil
}

// unwatched returns an error if a process cannot be watched because of a shortage, which may pass.
func unwatched(err error) error {
	for _, shortage := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOSPC} {
		if errors.Is(err, shortage) {
			return &ShortageError{Text: "breezeway: a client's process cannot be watched: " +
				err.Error(), Err: err}
		}
	}
	return nil
}

// begin starts the goroutine.
func (e *exits) begin() error {
	if e.poller != nil {
		return nil
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(epoll, true); err != nil {
		unix.Close(epoll)
		return err
	}
	poller := os.NewFile(uintptr(epoll), "exits")
	if poller.SetReadDeadline(time.Time{}) != nil { // The runtime's poller did not accept it.
		_ = poller.Close()
		return unix.ENOMEM
	}
	e.epoll, e.poller, e.watched = epoll, poller, map[uint64]*exit{}
	go e.tell()
	return nil
}

// tell notifies sessions. It runs until the process exits: the poller is never closed, and has no
// deadline.
func (e *exits) tell() {
	raw, err := e.poller.SyscallConn()
	var events [16]unix.EpollEvent
	for err == nil {
		count := 0
		err = raw.Read(func(fd uintptr) bool {
			var failed error
			for failed = unix.EINTR; failed == unix.EINTR; {
				count, failed = unix.EpollWait(int(fd), events[:], 0)
			}
			return count > 0
		})
		for _, event := range events[:max(count, 0)] {
			number := uint64(uint32(event.Fd)) | uint64(uint32(event.Pad))<<32
			if s := e.note(number); s != nil {
				s.exited()
			}
		}
	}
}

// note records that a process has exited, and returns its session, if there is one.
func (e *exits) note(number uint64) *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.watched[number]
	if x == nil {
		return nil
	}
	if !x.isOver {
		x.isOver = true
		e.drop(x)
	}
	return x.session
}

// drop removes a process from the watch. Closing its descriptor does not suffice, since a forked
// child may have a copy.
func (e *exits) drop(x *exit) {
	_ = unix.EpollCtl(e.epoll, unix.EPOLL_CTL_DEL, x.process, nil)
	unix.Close(x.process)
}

// tellOf registers the session to be notified.
func (e *exits) tellOf(number uint64, s *session) {
	s.exit = number
	e.mu.Lock()
	x := e.watched[number]
	if x == nil {
		e.mu.Unlock()
		return
	}
	x.session = s
	isOver := x.isOver
	e.mu.Unlock()
	if isOver {
		s.exited()
	}
}

// forget stops watching a process.
func (e *exits) forget(number uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.watched[number]
	if x == nil {
		return
	}
	delete(e.watched, number)
	if !x.isOver {
		e.drop(x)
	}
}

// exited makes the driver notice the exit after it has read what the peer has sent.
func (s *session) exited() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.link.exited()
	s.interrupt()
}
