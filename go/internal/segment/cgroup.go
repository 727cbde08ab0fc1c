package segment

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const cgroupRoot = "/sys/fs/cgroup"

// checkHeadroom returns an error if the memory cgroup (version 2) has no room: above its limit the
// kernel kills the process instead of failing the call. The check is a best effort, since others
// allocate concurrently.
func checkHeadroom(size int) error {
	for folder := ownCgroup(); folder != ""; folder = parent(folder) {
		limit, limited := number(filepath.Join(folder, "memory.max"))
		if !limited {
			continue
		}
		current, known := number(filepath.Join(folder, "memory.current"))
		if known && current+uint64(size) > limit {
			return &ShortageError{Text: fmt.Sprintf("a segment of %d bytes does not fit into the "+
				"memory cgroup: %d bytes are left below the limit in %s; raise that limit or "+
				"lower the session's cap", size, limit-min(limit, current),
				filepath.Join(folder, "memory.max"))}
		}
	}
	return nil
}

func ownCgroup() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(text), "\n") {
		if path, found := strings.CutPrefix(line, "0::"); found {
			return filepath.Join(cgroupRoot, path)
		}
	}
	return ""
}

func parent(folder string) string {
	if len(folder) <= len(cgroupRoot) {
		return ""
	}
	return filepath.Dir(folder)
}

// number reads a file with one number. It returns false if there is none, as for "max".
func number(path string) (uint64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	value, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return value, err == nil
}
