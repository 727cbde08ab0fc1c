package breezeway

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// watchable returns a connection for whose peer the kernel reports the exit of the process.
func watchable(t *testing.T) syscall.RawConn {
	t.Helper()
	_, ours := pair(t)
	raw, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	number, err := everyExit.watch(raw)
	if err != nil {
		t.Fatal(err)
	}
	if number == 0 {
		t.Skip("SKIPPED: the kernel does not tell of processes that have connected (Linux 6.5)")
	}
	everyExit.forget(number)
	return raw
}

func TestAClientThatCannotBeWatchedForAShortageIsRefused(t *testing.T) {
	watchable(t)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	_, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), echoCall,
		WithAuthorize(func(Peer) error {
			return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: before.Max})
		}))
	conn, err := Dial(contextOf(t), address)
	if failed := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); failed != nil {
		t.Error(failed)
	}
	if err == nil {
		_ = conn.Close()
	}
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Status != proto.RefusedNoMemory {
		t.Errorf("Dial gave %v", err)
	}
}

// A forked child has a copy of the watched descriptor until it executes another program.
func TestExitWatchEndsWithSessionDespiteCopies(t *testing.T) {
	raw := watchable(t)
	number, err := everyExit.watch(raw)
	if err != nil {
		t.Fatal(err)
	}
	everyExit.mu.Lock()
	copied, err := unix.Dup(everyExit.watched[number].process)
	everyExit.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(copied)
	isWatched := func() bool {
		info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", everyExit.epoll))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(info), fmt.Sprintf("data: %16x", number))
	}
	if !isWatched() {
		t.Error("it is not watched")
	}
	everyExit.forget(number)
	if isWatched() {
		t.Error("it is watched on")
	}
}
