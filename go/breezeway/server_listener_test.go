package breezeway

import (
	"context"
	"net"
	"path/filepath"
	"testing"
)

// TestListenerBesideCallsAcceptsForeignClients serves calls, streams and plain clients at one
// address.
func TestListenerBesideCallsAcceptsForeignClients(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	refuses := func(_ context.Context, stream *Stream) { stream.Reset(CodeRefused) }
	listener, err := ListenNet("unix:"+path, echoCall, WithStreamHandler(refuses),
		WithForeignProtocol("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx := context.Background()
	conn, err := Dial(ctx, "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Call(ctx, 1, []byte("call"))
	if err != nil || string(reply.Bytes()) != "call" {
		t.Errorf("a call gives %q, %v", reply.Bytes(), err)
	}
	stream, err := conn.Open(ctx, 1)
	if err == nil {
		_, err = stream.Recv(ctx)
	}
	if code, is := IsReset(err); !is || code != CodeRefused {
		t.Errorf("a stream ends with %v", err)
	}
	plain, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := plain.Write([]byte("of another protocol")); err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	first := make([]byte, 2)
	if _, err := accepted.Read(first); err != nil || string(first) != "of" {
		t.Errorf("%q is accepted, %v", first, err)
	}
}
