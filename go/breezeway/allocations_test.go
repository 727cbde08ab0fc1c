//go:build !race

// Pools forget at random under the race detector, so allocations are counted without it.

package breezeway_test

import (
	"context"
	"testing"
)

func TestASteadyStateCallAllocatesNothing(t *testing.T) {
	for _, size := range []int{8, 64, 4096} {
		conn := dial(t, goServer(t, "shm", echoes, nil))
		request, reply := make([]byte, size), make([]byte, 0, size)
		ctx := context.Background()
		call := func() {
			m, err := conn.Call(ctx, echo, request)
			if err != nil {
				t.Fatal(err)
			}
			if reply, err = m.AppendTo(reply[:0]); err != nil {
				t.Fatal(err)
			}
			m.Release()
		}
		call()
		// Both sides run in this process, so this counts the server's too.
		if allocations := testing.AllocsPerRun(1000, call); allocations >= 1 {
			t.Errorf("%d bytes: %v allocations a call", size, allocations)
		}
	}
}
