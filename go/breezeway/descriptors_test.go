package breezeway

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
)

// While the kernel enlarges the descriptor table, no thread of the process gets a descriptor; on an
// overloaded machine that has taken seconds. The test needs more sessions than other tests, which
// share this process.
func TestDescriptorTableHasRoomBeforeClientsConnect(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	server := &Server{handler: func(context.Context, *Call) error { return nil }}
	address := "shm:" + filepath.Join(t.TempDir(), "room.sock")
	if err := server.listen(address, WithMaxSessions(5_000)); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`FDSize:\s+(\d+)`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no FDSize in %s", status)
	}
	size, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	if wanted := min(limit.Cur, 10_000); uint64(size) < wanted {
		t.Fatalf("there is room for %d descriptors, not %d", size, wanted)
	}
}
