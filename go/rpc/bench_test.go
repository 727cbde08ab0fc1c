package rpc_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/echo"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// mirror is the service Echo.
type mirror struct{}

func (mirror) Echo(_ context.Context, body []byte) ([]byte, error) { return body, nil }
func (mirror) Wait(context.Context) error                          { return nil }

// BenchmarkCall measures a call of 64 bytes over shared memory: by number, as the reference, and of
// a service, with servers in Rust, of the command that BREEZEWAY_BIN names, and in Go, in this
// process.
func BenchmarkCall(b *testing.B) {
	body := make([]byte, 64)
	raw := func(address string) func(b *testing.B) {
		return func(b *testing.B) {
			client := breezeway.NewClient(address)
			defer client.Close()
			b.ReportAllocs()
			for range b.N {
				reply, err := client.Call(context.Background(), 0, body)
				if err != nil || len(reply.Bytes()) != len(body) {
					b.Fatal(err)
				}
				reply.Release()
			}
		}
	}
	typed := func(address string) func(b *testing.B) {
		return func(b *testing.B) {
			shared := rpc.NewClient(address)
			defer shared.Close()
			client := echo.NewEchoClient(shared)
			b.ReportAllocs()
			for range b.N {
				back, err := client.Echo(context.Background(), body)
				if err != nil || len(back) != len(body) {
					b.Fatal(err)
				}
			}
		}
	}
	address := "shm:" + b.TempDir() + "/raw"
	server, err := breezeway.Listen(address, func(_ context.Context, call *breezeway.Call) error {
		return call.Echo()
	}, breezeway.WithOffload(65536))
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()
	b.Run("go/raw", raw(address))
	var services rpc.Server
	echo.RegisterEcho(&services, mirror{})
	address = "shm:" + b.TempDir() + "/typed"
	if err := services.Listen(address); err != nil {
		b.Fatal(err)
	}
	go func() { _ = services.Serve() }()
	defer services.Close()
	b.Run("go/typed", typed(address))
	for protocol, run := range map[string]func(string) func(*testing.B){
		"breezeway": raw, "thrift": typed} {
		address := "shm:" + b.TempDir() + "/rust"
		startCommand(b, "serve", "--protocol", protocol, "--addr", address)
		b.Run("rust/"+protocol, run(address))
	}
}

// startCommand starts the command, which has printed a line when it listens.
func startCommand(b *testing.B, arguments ...string) {
	program := os.Getenv("BREEZEWAY_BIN")
	if program == "" {
		b.Skip("needs the program of the variable BREEZEWAY_BIN, as make go sets it")
	}
	server := exec.Command(program, arguments...)
	output, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	bufio.NewScanner(output).Scan()
}
