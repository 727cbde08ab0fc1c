package breezewaygrpc_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

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

// BenchmarkHealth makes health checks within one process: by grpc-go over its own sockets, by
// grpc-go over sessions, and natively. The allocations are those of both sides.
func BenchmarkHealth(b *testing.B) {
	folder := b.TempDir()
	over := func(name string, conn grpc.ClientConnInterface) {
		b.Run(name, func(b *testing.B) {
			client, ctx := grpc_health_v1.NewHealthClient(conn), context.Background()
			b.ReportAllocs()
			for range b.N {
				_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for network, place := range map[string]string{"unix": folder + "/go", "tcp": "127.0.0.1:0"} {
		listener, err := net.Listen(network, place)
		if err != nil {
			b.Fatal(err)
		}
		server := serverForMeasurement()
		go func() { _ = server.Serve(listener) }()
		b.Cleanup(server.Stop)
		target := listener.Addr().String()
		if network == "unix" {
			target = "unix:" + target
		}
		over("grpc-go/"+network, dialForMeasurement(b, target))
	}
	for carrier, place := range map[string]string{"shm": folder + "/shm", "unix": folder + "/unix",
		"tcp": "127.0.0.1:0"} {
		address, _ := serveHealth(b, carrier+":"+place, breezewaygrpc.Config{})
		over("grpc-go over sessions/"+carrier,
			dialForMeasurement(b, "passthrough:///test", breezewaygrpc.WithDialer(address)))
		over("native/"+carrier, connect(b, address))
	}
}
