package breezewaygrpc_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
)

// The README of the crate breezeway-grpc has the same server and client in Rust.
func Example() {
	folder, err := os.MkdirTemp("", "grpc")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	address := "shm:" + filepath.Join(folder, "app.sock")

	server := breezewaygrpc.NewServer(breezewaygrpc.Config{})
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	if err := server.Listen(address); err != nil {
		panic(err)
	}
	go server.Serve()
	defer server.GracefulStop()

	client, err := breezewaygrpc.NewClient(address)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	reply, err := grpc_health_v1.NewHealthClient(client).Check(context.Background(),
		&grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Status)
	// Output: SERVING
}
