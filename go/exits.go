package breezeway

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// exits tells sessions of servers that the process which has connected is gone (SO_PEERPIDFD, Linux
// 6.5), also where a child of it holds the socket. One goroutine waits for all of them.
type exits struct {
	mu       sync.Mutex
	epoll    int
	poller   *os.File // the same, by which the goroutine sleeps; nil until it is needed
	sessions map[uint64]*session
	last     uint64
}

var everyExit exits

// watch has a session told. Without the kernel's help, its end of file alone says so.
func (e *exits) watch(s *session) {
	process, failed := -1, error(nil)
	err := s.raw.Control(func(fd uintptr) {
		process, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	})
	if err != nil || failed != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// Not by the descriptor, whose number is used again.
	number := e.last + 1
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(number), Pad: int32(number >> 32)}
	if e.begin() != nil || unix.EpollCtl(e.epoll, unix.EPOLL_CTL_ADD, process, &event) != nil {
		unix.Close(process)
		return
	}
	e.sessions[number], e.last = s, number
	s.process, s.exit = process, number
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
	e.epoll, e.sessions = epoll, map[uint64]*session{}
	e.poller = os.NewFile(uintptr(epoll), "exits")
	go e.tell()
	return nil
}

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
			if s := e.take(number); s != nil {
				s.exited()
			}
		}
	}
}

// take lets go of what is watched for a session, and gives that; nil if it has ended before.
func (e *exits) take(number uint64) *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[number]
	if s != nil {
		delete(e.sessions, number)
		unix.Close(s.process)
	}
	return s
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
