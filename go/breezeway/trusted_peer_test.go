package breezeway_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

func TestSlicesOfATrustedPeerStayMappedAndAreBounded(t *testing.T) {
	address := goServer(t, "shm", echoes, nil)
	sent := pattern(5000, 9)
	call := func(opts ...breezeway.DialOption) (*breezeway.Session, breezeway.Message) {
		conn := dial(t, address, opts...)
		reply, err := conn.Call(within(t, time.Minute), echo, sent)
		if err != nil {
			t.Fatal(err)
		}
		return conn, reply
	}
	_, reply := call()
	if _, err := reply.Slice(); !errors.Is(err, breezeway.ErrNotTrusted) {
		t.Fatalf("a slice without the option: %v", err)
	}
	_, reply = call(breezeway.WithTrustedPeer(1))
	if _, err := reply.Slice(); !errors.Is(err, breezeway.ErrTooMuchPinned) {
		t.Fatalf("a slice past the limit: %v", err)
	}
	conn, reply := call(breezeway.WithTrustedPeer(segment.Pinned() + 64<<20))
	slice, err := reply.Slice()
	if err != nil || !bytes.Equal(slice, sent) {
		t.Fatalf("a slice: %v", err)
	}
	reply.Release()
	if _, err := reply.Slice(); !errors.Is(err, breezeway.ErrReleased) {
		t.Fatalf("a slice of what was released: %v", err)
	}
	// Reading the slice after the end yields some bytes, and no signal.
	_ = conn.Close()
	if read := bytes.Clone(slice); len(read) != len(sent) {
		t.Fatalf("%d bytes are left", len(read))
	}
}

func TestPrivateBytesNeedNoTrust(t *testing.T) {
	conn := dial(t, goServer(t, "unix", echoes, nil))
	sent := pattern(5000, 1)
	reply, err := conn.Call(within(t, time.Minute), echo, sent)
	if err != nil {
		t.Fatal(err)
	}
	if slice, err := reply.Slice(); err != nil || !bytes.Equal(slice, sent) {
		t.Fatalf("a slice of private bytes: %v", err)
	}
}

func TestASliceInUseIsNotWrittenAgainAfterItsMessageWasForgotten(t *testing.T) {
	const size = 20_000
	address := goServer(t, "shm", echoes, nil, breezeway.WithCap(64<<10))
	conn := dial(t, address, breezeway.WithTrustedPeer(segment.Pinned()+64<<20))
	sent := pattern(size, 3)
	slice := func() []byte {
		reply, err := conn.Call(within(t, time.Minute), echo, sent)
		if err != nil {
			t.Fatal(err)
		}
		slice, err := reply.Slice()
		if err != nil {
			t.Fatal(err)
		}
		return slice
	}()
	for round := range 20 {
		runtime.GC() // Twice: the second run drops what a pool holds.
		runtime.GC()
		collected := make(chan struct{})
		runtime.SetFinalizer(new([16]byte), func(*[16]byte) { close(collected) })
		runtime.GC()
		<-collected // Finalizers run in one goroutine, so earlier ones have run.
		reply, err := conn.Call(within(t, time.Minute), echo, pattern(size, byte(round+4)))
		if err != nil {
			t.Fatal(err)
		}
		reply.Release()
		if !bytes.Equal(slice, sent) {
			t.Fatalf("after %d more messages the slice has other bytes", round+1)
		}
	}
}
