package breezeway

import (
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// TestEchoesRefusedForMemoryDelayNoOtherSession requests large echoes on several sessions, which
// the server's limit on memory refuses. While all of them are held at their refusal, other clients
// and their calls are served. A refusal copies nothing of its request.
func TestEchoesRefusedForMemoryDelayNoOtherSession(t *testing.T) {
	const size, sessions, rounds = 48 << 20, 4, 10
	path := filepath.Join(t.TempDir(), "s")
	ctx, stop := context.WithCancel(context.Background())
	refused, goOn := make(chan error), make(chan struct{})
	quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
		isLarge := call.Request().Len() == size
		err := call.Echo()
		if isLarge {
			select {
			case refused <- err:
				<-goOn
			case <-ctx.Done():
			}
		}
		return err
	}, WithMaxMemory(8<<20), WithCap(64<<20))
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
	var asking sync.WaitGroup
	defer asking.Wait()
	defer close(goOn)
	defer stop()
	for range sessions {
		c := newCaller(t, path)
		c.sendFDs(1, fd)
		c.publish(proto.Head{Kind: proto.KindSegmentAdd}, 0,
			binary.LittleEndian.AppendUint64(nil, size))
		asking.Add(1)
		go func() {
			defer asking.Done()
			for number := uint32(0); ctx.Err() == nil && c.asks(number, size); number++ {
			}
		}()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		for range sessions {
			var shortage *ShortageError
			if err := soon(t, "a refusal", refused); !errors.As(err, &shortage) {
				t.Fatal("no refusal but: ", err)
			}
		}
		honest(t, other)
		conn, err := Dial(contextOf(t), "shm:"+path, WithHandshakeTimeout(20*time.Second))
		if err != nil {
			t.Fatal("a new client: ", err)
		}
		honest(t, conn)
		_ = conn.Close()
		for range sessions {
			goOn <- struct{}{}
		}
	}
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / (rounds * sessions)
	t.Logf("%d bytes allocated for each refusal", each)
	if each > size/8 {
		t.Errorf("a refusal of %d bytes allocates %d", size, each)
	}
}

// asks requests an echo, and releases the last answer. It returns false if no answer comes.
func (c *caller) asks(number uint32, size uint64) bool {
	d := proto.Descriptor{Lend: number % 64, Length: size}.Encode()
	released := c.lent
	c.publish(proto.Head{Kind: proto.KindMessage, Stream: 2*number + 1,
		Flags: proto.RequestFlags | proto.FlagLent}, released, d[:])
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
