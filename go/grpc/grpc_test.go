package grpc_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	breezegrpc "github.com/breezeway-ipc/breezeway/go/grpc"
)

// serve serves gRPC's health service, and gives a client of it.
func serve(t testing.TB, address string) grpc_health_v1.HealthClient {
	listener, err := breezegrpc.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	client, err := grpc.NewClient("passthrough:///test",
		breezegrpc.WithDialer(listener.Addr().String()),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(); server.Stop() })
	return grpc_health_v1.NewHealthClient(client)
}

func TestGRPCRunsOverEveryCarrier(t *testing.T) {
	folder := t.TempDir()
	for _, address := range []string{"shm:" + filepath.Join(folder, "shm"),
		"unix:" + filepath.Join(folder, "unix"), "tcp:127.0.0.1:0"} {
		t.Run(address, func(t *testing.T) {
			client := serve(t, address)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			for range 100 {
				reply, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
				if err != nil || reply.Status != grpc_health_v1.HealthCheckResponse_SERVING {
					t.Fatalf("%v, %v", reply, err)
				}
			}
			watched, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := watched.Recv(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
