package segment

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

const ownerSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE |
	unix.F_SEAL_SEAL

// A ShortageError is returned if this process or machine lacks a resource that a segment needs. It
// may pass.
type ShortageError struct {
	Text string
	Err  error
}

func (e *ShortageError) Error() string { return e.Text }
func (e *ShortageError) Unwrap() error { return e.Err }

func failed(call string, size int, err error) error {
	text := fmt.Sprintf("%s for a segment of %d bytes: %v", call, size, err)
	switch {
	case errors.Is(err, unix.EMFILE):
		text += " (raise the limit of open files, ulimit -n)"
	case errors.Is(err, unix.ENFILE):
		text += " (raise the machine's limit of open files, sysctl fs.file-max)"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM):
		text += " (memory is short; lower the session's cap)"
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%s (shm: needs Linux 5.1 or newer; use unix: on this machine)", text)
	default:
		return errors.New(text)
	}
	return &ShortageError{text, err}
}

func isShort(err error) bool {
	return errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.EMFILE)
}

// Create creates a sealed segment. It returns the only writable mapping, and the descriptor for the
// peer, which the caller closes.
func Create(size int) (*Mapping, int, error) {
	if err := checkHeadroom(size); err != nil {
		return nil, -1, err
	}
	fd, err := memfd("breezeway")
	if err != nil {
		return nil, -1, failed("memfd_create", size, err)
	}
	mapping, err := mapAndSeal(fd, size)
	if err != nil {
		unix.Close(fd)
		return nil, -1, err
	}
	return mapping, fd, nil
}

func memfd(name string) (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		return unix.MemfdCreate(name, flags)
	}
	return fd, err
}

// touch ensures that every page is allocated, as the peer requires. MAP_POPULATE does that, but the
// kernel does not report failures, and an emulator may ignore it. The pages are zero either way.
func touch(fd int, memory []byte) error {
	hole, err := unix.Seek(fd, 0, unix.SEEK_HOLE)
	if err != nil {
		return err
	}
	for at := hole; at < int64(len(memory)); at += 4096 {
		memory[at] = 0
	}
	return nil
}

// checkFileSize rejects a file larger than this process may create: ftruncate(2) would end the
// process with SIGXFSZ.
func checkFileSize(size int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil || uint64(size) <= limit.Cur {
		return nil
	}
	text := fmt.Sprintf("a segment of %d bytes exceeds this process's limit of file sizes, "+
		"RLIMIT_FSIZE, of %d bytes; raise it (ulimit -f) or lower the session's cap",
		size, limit.Cur)
	return &ShortageError{text, unix.EFBIG}
}

func mapAndSeal(fd, size int) (*Mapping, error) {
	if err := checkFileSize(size); err != nil {
		return nil, err
	}
	if err := retry(func() error { return unix.Ftruncate(fd, int64(size)) }); err != nil {
		return nil, failed("ftruncate", size, err)
	}
	if err := retry(func() error { return unix.Fallocate(fd, 0, 0, int64(size)) }); err != nil {
		return nil, failed("fallocate", size, err)
	}
	const protection = unix.PROT_READ | unix.PROT_WRITE
	memory, err := unix.Mmap(fd, 0, size, protection, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, failed("mmap", size, err)
	}
	if err := touch(fd, memory); err != nil {
		_ = unix.Munmap(memory)
		return nil, failed("lseek", size, err)
	}
	return seal(fd, memory)
}

// seal seals the descriptor of a mapped segment, or unmaps it.
func seal(fd int, memory []byte) (*Mapping, error) {
	// Keep the mapping out of forked children. (Go programs exec immediately after a fork; other
	// code in the process may not.)
	err := unix.Madvise(memory, unix.MADV_DONTFORK)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, ownerSeals)
	}
	if err != nil {
		_ = unix.Munmap(memory) // The earlier error is returned.
		return nil, failed("sealing", len(memory), err)
	}
	return newMapping(memory, true), nil
}

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

var probed struct {
	sync.Mutex
	done bool
	err  error
}

// Probe returns an error if sealed segments do not work here. The result holds for the process,
// except that Probe tries again after a shortage.
func Probe() error {
	probed.Lock()
	defer probed.Unlock()
	if probed.done {
		return probed.err
	}
	err := probe()
	if probed.done = !errors.As(err, new(*ShortageError)); probed.done {
		probed.err = err
	}
	return err
}

func probe() error {
	mapping, fd, err := Create(1)
	if err != nil {
		return err
	}
	defer mapping.Drop()
	defer unix.Close(fd)
	memory, err := unix.Mmap(fd, 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err == nil {
		_ = unix.Munmap(memory)
		return errors.New("sealed memfds can still be mapped writable here; shm: needs Linux " +
			"5.1 or newer; use unix: on this machine")
	}
	if isShort(err) {
		return failed("mmap", 1, err)
	}
	return nil
}
