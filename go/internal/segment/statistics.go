package segment

import "golang.org/x/sys/unix"

// CreateStatistics creates the file of a process's statistics (docs/abi.md, section 9): sealed as a
// segment is, with pages that are allocated when they are written. Tools find it by its name and
// its descriptor, which is never closed.
func CreateStatistics(size int) (*Mapping, error) {
	fd, err := memfd("breezeway-stats")
	if err != nil {
		return nil, failed("memfd_create", size, err)
	}
	mapping, err := mapSparse(fd, size)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return mapping, nil
}

func mapSparse(fd, size int) (*Mapping, error) {
	if err := checkFileSize(size); err != nil {
		return nil, err
	}
	if err := retry(func() error { return unix.Ftruncate(fd, int64(size)) }); err != nil {
		return nil, failed("ftruncate", size, err)
	}
	memory, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, failed("mmap", size, err)
	}
	return seal(fd, memory)
}
