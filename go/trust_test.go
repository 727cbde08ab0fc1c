package breezeway_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

func TestSlicesOfATrustedPeerStayMappedAndAreBounded(t *testing.T) {
	address := goServer(t, "shm", echoes, nil)
	sent := pattern(5000, 9)
	call := func(opts ...breezeway.Option) (*breezeway.Conn, breezeway.Reply) {
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
	_, reply = call(breezeway.TrustPeer(1))
	if _, err := reply.Slice(); !errors.Is(err, breezeway.ErrTooMuchPinned) {
		t.Fatalf("a slice past the limit: %v", err)
	}
	conn, reply := call(breezeway.TrustPeer(64 << 20))
	slice, err := reply.Slice()
	if err != nil || !bytes.Equal(slice, sent) {
		t.Fatalf("a slice: %v", err)
	}
	reply.Release()
	if _, err := reply.Slice(); !errors.Is(err, breezeway.ErrReleased) {
		t.Fatalf("a slice of what was released: %v", err)
	}
	// Who still holds the slice after the end reads something, and no signal comes.
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
