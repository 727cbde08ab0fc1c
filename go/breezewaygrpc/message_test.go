package breezewaygrpc

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// received returns a reader of a stream on which the peer sends bytes, and its end.
func received(t *testing.T, bytes []byte) (context.Context, *reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	send := func(_ context.Context, stream *breezeway.Stream) {
		_ = stream.SendEntry(ctx, breezeway.Entry{Message: [][]byte{bytes}, Last: true})
	}
	address := "unix:" + t.TempDir() + "/s"
	server, err := breezeway.Listen(address, nil, breezeway.WithStreamHandler(send))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	t.Cleanup(func() { _ = server.Close() })
	conn, err := breezeway.Dial(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	stream, err := conn.Open(ctx, callMethod)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, &reader{stream: stream}
}

func allocated() uint64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.TotalAlloc
}

func TestAnnouncedLengthTakesNoMemoryBeforeItsBytes(t *testing.T) {
	for _, length := range []byte{0x01, 0x7f} { // 16 MiB and 2 GiB, of which one byte arrives.
		ctx, r := received(t, []byte{0, length, 0xff, 0xff, 0xff, 1})
		before := allocated()
		err := r.read(ctx, &format{maxRecv: math.MaxInt}, nil)
		if grown := allocated() - before; err != errCutShort || grown > 1<<20 {
			t.Errorf("%#x: %v, and %d bytes are allocated", length, err, grown)
		}
	}
}
