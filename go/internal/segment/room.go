package segment

import (
	"errors"

	"golang.org/x/sys/unix"
)

// MakeRoom makes this process's table of descriptors large enough for count of them at once, or for
// as many as it may have if those are fewer. The table never shrinks, and takes some 8 bytes for
// each.
//
// The kernel doubles the table when a higher number is needed, and waits until no CPU can still
// read the old one (expand_fdtable in Linux's fs/file.c): some 15 ms, and seconds on an overloaded
// machine. Meanwhile no thread of the process gets a descriptor. So peers that open many
// connections would keep others waiting.
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
	// The limit is lower than a moment before, or fs.nr_open is, or no number from there on is
	// free: there is as much room as there can be.
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EMFILE) {
		return nil
	}
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
