package breezeway

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/abi"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// TestEchoesRefusedForMemoryDelayNoOtherSession has sessions ask for large echoes, which the
// server's limit of memory refuses, and times what others ask for meanwhile.
func TestEchoesRefusedForMemoryDelayNoOtherSession(t *testing.T) {
	const size = 48 << 20
	path := filepath.Join(t.TempDir(), "s")
	quietServer(t, "shm:"+path, (*Call).Echo, MaxMemory(8<<20), Cap(64<<20))
	other, err := Dial(contextOf(t), "shm:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	mapping, fd, err := segment.Create(size)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	mapping.Drop()
	hello := liarHello
	defer func() { liarHello = hello }()
	liarHello.PayloadCap = 64 << 20
	ctx, stop := context.WithCancel(contextOf(t))
	defer stop()
	var asking sync.WaitGroup
	var refused [4]int
	for i := range refused {
		c := newCaller(t, path)
		c.sendFDs(1, fd)
		c.publish(abi.Head{Kind: abi.KindSegmentAdd}, 0,
			binary.LittleEndian.AppendUint64(nil, size))
		asking.Add(1)
		go func() {
			defer asking.Done()
			for ctx.Err() == nil && c.asks(uint32(refused[i]), size) {
				refused[i]++
			}
		}()
	}
	var calls, connects []time.Duration
	for began := time.Now(); time.Since(began) < time.Second; {
		now := time.Now()
		honest(t, other)
		calls = append(calls, time.Since(now))
		now = time.Now()
		conn, err := Dial(contextOf(t), "shm:"+path)
		if err != nil {
			t.Error(err)
			break
		}
		connects = append(connects, time.Since(now))
		_ = conn.Close()
	}
	stop()
	asking.Wait()
	for what, took := range map[string][]time.Duration{"calls": calls, "connects": connects} {
		slices.Sort(took)
		median, longest := took[len(took)/2], took[len(took)-1]
		t.Logf("%d %s took %v, %v at most", len(took), what, median, longest)
		if median > 10*time.Millisecond || longest > time.Second {
			t.Errorf("%s are delayed", what)
		}
	}
	t.Logf("%d were refused", refused)
	if slices.Min(refused[:]) < 10 {
		t.Error("too few were refused to delay anybody")
	}
}

// asks asks for an echo, and releases the last answer; false if none comes.
func (c *caller) asks(number uint32, size uint64) bool {
	d := abi.Descriptor{Lend: number % 64, Length: size}.Encode()
	released := c.lent
	c.publish(abi.Head{Kind: abi.KindMessage, Stream: 2*number + 1,
		Flags: abi.FlagOpen | abi.FlagFin | abi.FlagLent}, released, d[:])
	for {
		stream, came := c.next()
		switch {
		case !came:
			c.t.Error("no reply")
			return false
		case stream == 2*number+1:
			return true
		}
	}
}
