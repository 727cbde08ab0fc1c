package breezewaygrpc_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/breezeway-ipc/breezeway/go/internal/programs"
	"github.com/breezeway-ipc/breezeway/go/internal/versus"
)

// TestMeasureNativeBesideUnix prints native unary calls of 64 B each way over shared memory, Go's
// and between Go and Rust, beside those of grpc-go over its own unix sockets:
//
//	BREEZEWAY_BIN=... go test -run MeasureNative . -versus 4s -v
//
// The Rust side is the command breezeway; a debug build of it is slower.
func TestMeasureNativeBesideUnix(t *testing.T) {
	versus.Ask(t)
	shm, path := versus.Servers(t)
	const other = "grpc-go over unix"
	unix := calls(t, dialForMeasurement(t, "unix:"+path))
	versus.Pairs("Go calls Go", other, unix, calls(t, connect(t, shm)))
	command := programs.Path(t, "BREEZEWAY_BIN")
	rust := "shm:" + t.TempDir() + "/rust"
	versus.StartCommand(t, command, "grpc", rust)
	versus.Pairs("Go calls Rust", other, unix, calls(t, connect(t, rust)))
	versus.Pairs("Rust calls Go", other, unix, versus.Command(t, command, "grpc", shm))
}

// calls returns turns of calls of 64 B each way.
func calls(t *testing.T, conn grpc.ClientConnInterface) versus.Turn {
	sent := wrapperspb.Bytes(make([]byte, 64))
	return versus.Calls(t, 1, func() error {
		reply := new(wrapperspb.BytesValue)
		err := conn.Invoke(context.Background(), bouncePath, sent, reply)
		if err == nil && len(reply.Value) != len(sent.Value) {
			err = fmt.Errorf("%d bytes came back", len(reply.Value))
		}
		return err
	})
}

// TestMeasureManyNativeCalls prints native calls of Go to Go as TestMeasureBesideUnix does those of
// HTTP/2.
func TestMeasureManyNativeCalls(t *testing.T) {
	versus.Ask(t)
	shm, path := versus.Servers(t)
	measure(t, "native, ", dialForMeasurement(t, "unix:"+path), connect(t, shm))
}
