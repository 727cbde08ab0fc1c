package segment

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestASealedSegmentCanBeReadByThePeerAndWrittenByNobodyElse(t *testing.T) {
	own, fd, err := Create(10_000)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Drop()
	defer unix.Close(fd)
	peer, err := Map(fd, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Drop()
	own.CopyIn(9_990, []byte("0123456789"))
	got := make([]byte, 10)
	peer.CopyOut(got, 9_990)
	if string(got) != "0123456789" {
		t.Fatalf("read %q", got)
	}
	if _, err := unix.Pwrite(fd, []byte("x"), 0); err == nil {
		t.Fatal("a sealed segment was written by its descriptor")
	}
	if err := unix.Ftruncate(fd, 1); err == nil {
		t.Fatal("a sealed segment was shrunk")
	}
	const punch = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	if err := unix.Fallocate(fd, punch, 0, 4096); err == nil {
		t.Fatal("a sealed segment got a hole")
	}
}

func memory(t *testing.T, size int64, backed bool, seals int) int {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	if backed {
		if err := unix.Fallocate(fd, 0, 0, size); err != nil {
			t.Fatal(err)
		}
	}
	if backed { // Pages that were only allocated count as holes.
		if _, err := unix.Pwrite(fd, make([]byte, size), 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestWhatIsNoSegmentIsRefused(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const both = unix.F_SEAL_SHRINK | unix.F_SEAL_FUTURE_WRITE
	for name, fd := range map[string]int{
		"a file":               int(file.Fd()),
		"without a seal":       memory(t, 4096, true, 0),
		"may still shrink":     memory(t, 4096, true, unix.F_SEAL_FUTURE_WRITE),
		"may get holes":        memory(t, 4096, true, unix.F_SEAL_SHRINK),
		"not backed":           memory(t, 4096, false, both),
		"larger than promised": memory(t, 8192, true, both),
		"smaller":              memory(t, 4095, true, both),
	} {
		if mapping, err := Map(fd, 4096); err == nil {
			mapping.Drop()
			t.Errorf("%s: was mapped", name)
		}
	}
	mapping, err := Map(memory(t, 4096, true, both), 4096)
	if err != nil {
		t.Fatalf("a sealed one: %v", err)
	}
	mapping.Drop()
}

func TestAnUnmappedSegmentIsNotTouched(t *testing.T) {
	own, fd, err := Create(4096)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	own.Hold()
	own.Drop()
	own.Store(8, 1)
	own.Drop()
	defer func() {
		if recover() == nil {
			t.Fatal("a load from what is no longer mapped")
		}
	}()
	own.Load(8)
}

func TestSealedSegmentsWorkHere(t *testing.T) {
	if err := Probe(); err != nil {
		t.Fatal(err)
	}
}

func TestSegmentAboveFileSizeLimitIsShortage(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limit := unix.Rlimit{Cur: 1 << 20, Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	_, _, err := Create(2 << 20)
	if restored := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); restored != nil {
		t.Fatal(restored)
	}
	var shortage *ShortageError
	if !errors.As(err, &shortage) || !strings.Contains(err.Error(), "RLIMIT_FSIZE") {
		t.Fatal(err)
	}
}
