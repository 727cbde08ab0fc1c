package segment

import (
	"syscall"
	"testing"
)

func TestAShortageDoesNotSayThatSegmentsWillNeverWorkHere(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	probed.Lock()
	was := probed.done
	probed.done = false
	probed.Unlock()
	short := Probe()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if short == nil {
		t.Error("a segment was made without a descriptor")
	}
	if err := Probe(); err != nil {
		t.Errorf("once there are descriptors: %v (found out before: %v)", err, was)
	}
}
