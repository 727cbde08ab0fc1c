package breezeway_test

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"testing"
	"time"
)

func TestAConnectionThatIsClosedKeepsNothingOfWhatItHasRead(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // Which would give it back, late.
	for _, length := range []int{200, 100} {
		listener := netListener(t, "shm")
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write(make([]byte, 200))
				_ = conn.Close()
			}
		}()
		session := dial(t, listener.Addr().String())
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for i := range 1000 { // More than there are lends.
			conn, err := session.DialNet(ctx)
			if err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.ReadFull(conn, make([]byte, length)); err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
			_ = conn.Close()
		}
	}
}

func TestADeadlineThatMovesEndsAReadWhereItIsThenAndCostsNoTimer(t *testing.T) {
	listener := netListener(t, "shm")
	conn, err := dial(t, listener.Addr().String()).DialNet(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	deadlines := []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, time.Hour,
		150 * time.Millisecond}
	for _, deadline := range deadlines[:2] { // Later than the timer that is set.
		_ = conn.SetReadDeadline(began.Add(deadline))
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	if waited := time.Since(began); waited < deadlines[1] {
		t.Errorf("a read ended after %v, before its deadline", waited)
	}
	for _, deadline := range deadlines[2:] { // Earlier than the timer that is set.
		_ = conn.SetReadDeadline(began.Add(deadline))
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	later := began.Add(time.Hour)
	if allocations := testing.AllocsPerRun(100, func() {
		later = later.Add(time.Second)
		_ = conn.SetReadDeadline(later)
		_ = conn.SetReadDeadline(time.Time{})
	}); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}
