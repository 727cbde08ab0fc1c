package breezeway

import (
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestAReservationThatIsForgottenIsAbandoned(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), nil)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	s := conn.session
	reserved := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.memory.end.UnderWay()
	}
	before := reserved()
	if _, err := conn.Reserve(contextOf(t), 100_000); err != nil {
		t.Fatal(err)
	}
	if reserved() == before {
		t.Fatal("a reservation takes nothing")
	}
	for end := time.Now().Add(20 * time.Second); reserved() != before; runtime.Gosched() {
		if runtime.GC(); time.Now().After(end) {
			t.Fatal("its memory stays taken")
		}
	}
	_ = conn.Close()
}

func TestNothingIsWrittenBehindTheEndOfAReservation(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), echoCall)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, size := range []int{10, 4096} {
		space, err := conn.Reserve(contextOf(t), size)
		if err != nil {
			t.Fatal(err)
		}
		space.Truncate(5)
		for _, at := range []int64{5, 9, 5000, 1 << 40} {
			if n, err := space.WriteAt([]byte{1}, at); n != 0 || !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("of %d bytes, at %d: %d, %v", size, at, n, err)
			}
		}
		space.Abandon()
	}
}
