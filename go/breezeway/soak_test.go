package breezeway_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

var soakFor = flag.Duration("soak", 0, "how long the soak goes on; 0: it is skipped")

// A footprint counts the resources of a process.
type footprint struct{ heap, descriptors, mappings, goroutines, threads int }

func (f footprint) String() string {
	return fmt.Sprintf("heap %d KiB, %d descriptors, %d segments mapped, %d goroutines, %d threads",
		f.heap>>10, f.descriptors, f.mappings, f.goroutines, f.threads)
}

func (f footprint) within(g footprint) bool {
	// The pools and the runtime keep a little more or less each time.
	return f.heap <= g.heap+g.heap/4+1<<20 && f.descriptors <= g.descriptors+8 &&
		f.mappings <= g.mappings+2 && f.goroutines <= g.goroutines+8 &&
		// The runtime starts more threads if some sleep in the kernel, and keeps them.
		f.threads <= g.threads+16
}

func footprintNow(t *testing.T) (f footprint) {
	debug.FreeOSMemory()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	f.heap, f.goroutines = int(memory.HeapAlloc), runtime.NumGoroutine()
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	// Only mappings of segments count: each thread of a program with cgo, as tests are, has
	// mappings too.
	f.descriptors, f.mappings = len(descriptors), mappings(t, os.Getpid())
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	f.threads = len(threads)
	return f
}

// TestASoakLeavesHeapDescriptorsAndMappingsAsTheyWere opens and ends sessions, makes calls of all
// sizes from many goroutines, uses streams, and abandons calls. Both sides run in this process. The
// resources between two rounds, without a client, are compared with those of an early round.
func TestASoakLeavesHeapDescriptorsAndMappingsAsTheyWere(t *testing.T) {
	if *soakFor == 0 {
		t.Skip("goes on for as long as -soak says, such as -soak 10m (make soak-go)")
	}
	address := goServer(t, "shm", echoes, bounce)
	began := time.Now()
	var early footprint
	var calls, rounds, sessions atomic.Int64
	for end := began.Add(*soakFor); time.Now().Before(end); rounds.Add(1) {
		const clients = 4
		ended := make(chan error, clients)
		for i := range clients {
			go func() {
				seed := rounds.Load()*clients + int64(i)
				ended <- soakSession(address, rand.New(rand.NewSource(seed)),
					&calls)
			}()
		}
		for range clients {
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		}
		sessions.Add(clients)
		if n := rounds.Load(); n != 20 && n%200 != 0 {
			continue
		}
		now := settled(t, early)
		if rounds.Load() == 20 {
			early = now
		}
		t.Logf("after %v, %d sessions and %d calls: %v", time.Since(began).Round(time.Second),
			sessions.Load(), calls.Load(), now)
	}
	if early.heap == 0 {
		t.Fatalf("%v is too short: %d rounds, and what is held early on is seen after 20", *soakFor,
			rounds.Load())
	}
	if last := settled(t, early); !last.within(early) {
		t.Fatalf("it held %v early on, and holds %v", early, last)
	} else {
		t.Logf("in the end, %d sessions and %d calls: %v", sessions.Load(), calls.Load(), last)
	}
}

// settled waits until the server has noticed that its clients are gone.
func settled(t *testing.T, early footprint) (now footprint) {
	for range 100 {
		if now = footprintNow(t); early.heap > 0 && now.within(early) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return now
}

func soakSession(address string, random *rand.Rand, calls *atomic.Int64) error {
	// The machine may pause.
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	conn, err := breezeway.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	const goroutines = 8
	ended := make(chan error, goroutines)
	for range goroutines {
		mine := rand.New(rand.NewSource(random.Int63()))
		go func() { ended <- soakCalls(ctx, conn, mine, calls) }()
	}
	for range goroutines {
		err = errors.Join(err, <-ended)
	}
	return err
}

func soakCalls(
	ctx context.Context, conn *breezeway.Session, random *rand.Rand, calls *atomic.Int64,
) error {
	for range 20 {
		request := make([]byte, random.Intn(1<<random.Intn(20)))
		random.Read(request)
		calls.Add(1)
		switch random.Intn(10) {
		case 0:
			given, cancel := context.WithTimeout(ctx,
				time.Duration(random.Intn(50))*time.Microsecond)
			reply, err := conn.Call(given, echo, request)
			cancel()
			if err == nil {
				reply.Release()
			} else if !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
		case 1:
			if err := soakStream(ctx, conn, request); err != nil {
				return err
			}
		default:
			reply, err := conn.Call(ctx, echo, request)
			if err != nil {
				return err
			}
			if !bytes.Equal(reply.Bytes(), request) {
				return errors.New("another reply")
			}
			if random.Intn(100) > 0 { // Otherwise the collector releases it.
				reply.Release()
			}
		}
	}
	return nil
}

func soakStream(ctx context.Context, conn *breezeway.Session, message []byte) error {
	stream, err := conn.Open(ctx, 0)
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := stream.Send(ctx, message); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		reply, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(reply.Bytes(), message) {
			return errors.New("another message")
		}
		reply.Release()
	}
}
