package breezeway

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exits tells sessions of servers that the process which has connected is gone (SO_PEERPIDFD, Linux
// 6.5), also where a child of it holds the socket. One goroutine waits for all of them.
type exits struct {
	mu      sync.Mutex
	epoll   int
	poller  *os.File // the same, by which the goroutine sleeps; nil until it is needed
	watched map[uint64]*exit
	last    uint64
}

// exit is that of one process.
type exit struct {
	process int      // its descriptor
	session *session // nil until there is one
	isOver  bool
}

var everyExit exits

// watch begins to watch the process that has connected, and gives its number; 0 without the
// kernel's help, where its end of file alone says that it is gone.
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
	// Not by the descriptor, whose number is used again.
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

// unwatched says whether a process cannot be watched for a shortage, which passes.
func unwatched(err error) error {
	for _, shortage := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOSPC} {
		if errors.Is(err, shortage) {
			return &ShortageError{Text: "breezeway: a client's process cannot be watched: " +
				err.Error(), Err: err}
		}
	}
	return nil
}

// begin has the goroutine run.
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
	if poller.SetReadDeadline(time.Time{}) != nil { // The runtime's poller has not taken it.
		_ = poller.Close()
		return unix.ENOMEM
	}
	e.epoll, e.poller, e.watched = epoll, poller, map[uint64]*exit{}
	go e.tell()
	return nil
}

// tell ends with the process: nobody closes the poller, or sets it a deadline.
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

// note notes that a process is gone, and gives its session, if it has one.
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

// drop lets go of a process. A forked child may have a copy of its descriptor, so that closing it
// does not end the watch.
func (e *exits) drop(x *exit) {
	_ = unix.EpollCtl(e.epoll, unix.EPOLL_CTL_DEL, x.process, nil)
	unix.Close(x.process)
}

// tellOf has a session told.
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

// forget watches a process no longer.
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

// exited has who drives see, behind what the other side has sent, that it is gone.
func (s *session) exited() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.link.exited()
	s.interrupt()
}
