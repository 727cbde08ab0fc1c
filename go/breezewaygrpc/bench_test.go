package breezewaygrpc_test

import (
	"testing"

	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
)

// BenchmarkNativeUnary makes unary calls of 64 B each way within one process.
func BenchmarkNativeUnary(b *testing.B) {
	address, _, _ := startNative(b, "shm:"+b.TempDir()+"/s", breezewaygrpc.Config{})
	client, ctx, request := dialNative(b, address), within(b), simple(64, 64)
	b.ReportAllocs()
	for range b.N {
		if _, err := client.UnaryCall(ctx, request); err != nil {
			b.Fatal(err)
		}
	}
}
