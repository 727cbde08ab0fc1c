package breezewayotel_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/breezeway-ipc/breezeway/go/breezewayotel"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/users"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// The program has set a tracer provider and a propagator in package otel.
func Example() {
	dir, err := os.MkdirTemp("", "otel")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	address := "shm:" + filepath.Join(dir, "users.sock")

	var server rpc.Server
	server.Observe(breezewayotel.Server)
	users.RegisterUsers(&server, hall{})
	if err := server.Listen(address); err != nil {
		panic(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()

	client := rpc.NewClient(address)
	client.Observe(breezewayotel.Client)
	defer client.Close()

	age, err := users.NewUsersClient(client).Age(context.Background(), "Ada")
	if err != nil {
		panic(err)
	}
	fmt.Println(age)
	// Output: 36
}
