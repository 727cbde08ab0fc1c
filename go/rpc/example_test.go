package rpc_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/breezeway-ipc/breezeway/go/internal/idl/users"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// An observer prints the calls that fail. One of a server sees panics and errors of handlers, one
// of a client also what the server never saw.
func ExampleClient_Observe() {
	dir, err := os.MkdirTemp("", "observe")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	address := "shm:" + filepath.Join(dir, "users.sock")

	var server rpc.Server
	users.RegisterUsers(&server, table{})
	if err := server.Listen(address); err != nil {
		panic(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()

	failures := func(ctx context.Context, m rpc.Method) (context.Context, func(error)) {
		return ctx, func(err error) {
			if err != nil {
				fmt.Printf("%v failed: %v\n", m, err)
			}
		}
	}
	client := rpc.NewClient(address)
	defer client.Close()
	client.Observe(failures)
	_, _ = users.NewUsersClient(client).Age(context.Background(), "Ada")
	_, _ = users.NewUsersClient(client).Age(context.Background(), "broken")
	// Output: Users.age failed: the table is broken
}
