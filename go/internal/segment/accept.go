package segment

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Accept judges a descriptor that the peer says is a segment, before anything else is done with it:
// it has the seals of section 3. Other files have none, so no call here blocks on a file system.
func Accept(fd int) error {
	const needed = unix.F_SEAL_SHRINK
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("the descriptor is no memfd (F_GET_SEALS: %w)", err)
	}
	if seals&needed != needed || seals&(unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_WRITE) == 0 {
		return fmt.Errorf("the segment is not sealed against shrinking and writing by others "+
			"(seals %#x)", seals)
	}
	return nil
}

// Map checks an accepted descriptor of the announced size, and maps it read-only. The descriptor
// stays the caller's.
func Map(fd int, size uint64) (*Mapping, error) {
	if err := checkBacking(fd, size); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, failed("mmap", int(size), err)
	}
	return newMapping(memory, false), nil
}

func checkBacking(fd int, size uint64) error {
	if err := Accept(fd); err != nil {
		return err
	}
	var system unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(fd, &system) }); err != nil {
		return fmt.Errorf("fstatfs of the peer's segment: %w", err)
	}
	if system.Type != unix.TMPFS_MAGIC {
		return fmt.Errorf("the segment is not a tmpfs file (file system type %#x)", system.Type)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("fstat of the peer's segment: %w", err)
	}
	if size == 0 || uint64(stat.Size) != size {
		return fmt.Errorf("the segment has %d bytes, %d were announced or allowed", stat.Size, size)
	}
	hole, err := unix.Seek(fd, 0, unix.SEEK_HOLE)
	if err != nil && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("lseek in the peer's segment: %w", err)
	}
	backed := min(uint64(stat.Blocks)*512, uint64(hole))
	if backed < size {
		return fmt.Errorf("only %d of the segment's %d bytes are backed by memory", backed, size)
	}
	return nil
}
