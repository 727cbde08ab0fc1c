package segment

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Accept validates a received descriptor as a segment, before any other use (section 3), and
// returns its size. It makes no other call on files without the seals, so that no call blocks on a
// file system.
func Accept(fd int) (size uint64, err error) {
	const needed = unix.F_SEAL_SHRINK
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return 0, fmt.Errorf("the descriptor is not a memfd (F_GET_SEALS: %w)", err)
	}
	if seals&needed != needed || seals&(unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_WRITE) == 0 {
		return 0, fmt.Errorf("the segment is not sealed against shrinking and writing by others "+
			"(seals %#x)", seals)
	}
	return backedSize(fd)
}

// Map validates a descriptor of the announced size, and maps it read-only. The caller keeps the
// descriptor.
func Map(fd int, size uint64) (*Mapping, error) {
	found, err := Accept(fd)
	if err != nil {
		return nil, err
	}
	if found != size {
		return nil, fmt.Errorf("the segment has %d bytes, %d were announced or allowed", found,
			size)
	}
	memory, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, failed("mmap", int(size), err)
	}
	return newMapping(memory, false), nil
}

// backedSize returns the size of a sealed segment, or an error unless all its pages are allocated.
func backedSize(fd int) (uint64, error) {
	var system unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(fd, &system) }); err != nil {
		return 0, fmt.Errorf("fstatfs of the peer's segment: %w", err)
	}
	if system.Type != unix.TMPFS_MAGIC {
		return 0, fmt.Errorf("the segment is not a tmpfs file (file system type %#x)", system.Type)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return 0, fmt.Errorf("fstat of the peer's segment: %w", err)
	}
	size := uint64(max(stat.Size, 0))
	if size == 0 {
		return 0, errors.New("the segment has no bytes")
	}
	hole, err := unix.Seek(fd, 0, unix.SEEK_HOLE)
	if err != nil && !errors.Is(err, unix.ENXIO) {
		return 0, fmt.Errorf("lseek in the peer's segment: %w", err)
	}
	backed := min(uint64(stat.Blocks)*512, uint64(hole))
	if backed < size {
		return 0, fmt.Errorf("only %d of the segment's %d bytes are backed by memory", backed, size)
	}
	return size, nil
}
