package segment

import (
	"errors"

	"golang.org/x/sys/unix"
)

// MakeRoom makes this process's descriptor table large enough for count descriptors at once, or for
// its limit if that is lower. The table never shrinks, and takes some 8 bytes per descriptor.
//
// The kernel doubles the table when a higher number is needed, and waits until no CPU can still
// read the old one (expand_fdtable in Linux's fs/file.c), which takes milliseconds, or seconds on
// an overloaded machine. Until then no thread of the process gets a descriptor. Peers that open
// many connections would thus delay others.
func MakeRoom(count int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	highest := int(min(uint64(count), limit.Cur)) - 1
	any, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(any)
	fd, err := unix.FcntlInt(uintptr(any), unix.F_DUPFD_CLOEXEC, highest)
	// The limit or fs.nr_open was lowered, or no number from there on is free: the table is as
	// large as it can be.
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EMFILE) {
		return nil
	}
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
