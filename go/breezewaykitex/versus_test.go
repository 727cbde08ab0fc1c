package breezewaykitex_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/connpool"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo/echo"
	generated "github.com/breezeway-ipc/breezeway/go/internal/idl/echo"
	"github.com/breezeway-ipc/breezeway/go/internal/versus"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

func TestMain(m *testing.M) { versus.Main(m, serveForMeasurement) }

// TestMeasureBesideUnix prints calls of Kitex over shared memory beside those over unix sockets
// with its own transport: go test -run MeasureBesideUnix . -versus 4s -v
func TestMeasureBesideUnix(t *testing.T) {
	versus.Ask(t)
	shm, unix := versus.Servers(t)
	socket := clientForMeasurement(t, client.WithHostPorts(unix))
	memory := clientForMeasurement(t, breezewaykitex.Client(shm))
	for _, size := range []int{64, 64 << 10, 1 << 20} {
		versus.Row(t, fmt.Sprintf("Kitex, %d B", size), 1, bounce(socket, size),
			bounce(memory, size))
	}
	versus.Row(t, "Kitex, 64 B, 64 at once", 64, bounce(socket, 64), bounce(memory, 64))
	for _, rate := range []float64{10, 100, 1000} {
		versus.Pairs(fmt.Sprintf("Kitex, 64 B, %g a second", rate), "unix",
			versus.Paced(t, rate, bounce(socket, 64)), versus.Paced(t, rate, bounce(memory, 64)))
	}
}

// TestMeasureTyped prints typed calls between Go and Rust over shared memory beside raw echoes of
// Go, and beside calls of Kitex over its unix socket:
//
//	BREEZEWAY_BIN=... go test -run MeasureTyped . -versus 4s -v
//
// The Rust side is the command breezeway; a debug build of it is slower.
func TestMeasureTyped(t *testing.T) {
	versus.Ask(t)
	command := os.Getenv("BREEZEWAY_BIN")
	if command == "" {
		t.Skip("needs the program of the variable BREEZEWAY_BIN")
	}
	memory, unix := versus.Servers(t)
	folder := t.TempDir()
	raw, typed, rust := folder+rawServer, folder+typedServer, folder+"/rust"
	versus.Start(t, "shm:"+raw)
	versus.Start(t, "shm:"+typed)
	versus.StartCommand(t, command, "thrift", "shm:"+rust)
	echoes := breezeway.NewClient("shm:" + raw)
	defer echoes.Close()
	sent := make([]byte, 64)
	echo := versus.Calls(t, 1, func() error {
		reply, err := echoes.Call(context.Background(), 0, sent)
		if err == nil {
			reply.Release()
		}
		return err
	})
	kitex := versus.Calls(t, 1, bounce(clientForMeasurement(t, client.WithHostPorts(unix)), 64))
	for _, row := range []struct {
		name string
		turn versus.Turn
	}{
		{"Go calls Rust", generatedCalls(t, "shm:"+rust)},
		{"Rust calls Go", versus.Command(t, command, "thrift", "shm:"+typed)},
		{"Go calls Go", generatedCalls(t, "shm:"+typed)},
		{"Kitex calls Kitex",
			versus.Calls(t, 1, bounce(clientForMeasurement(t, breezewaykitex.Client(memory)), 64))},
	} {
		versus.Pairs(row.name, "raw echo in Go", echo, row.turn)
		versus.Pairs(row.name, "Kitex over unix", kitex, row.turn)
	}
}

// generatedCalls returns turns of calls by the code of the command's generator.
func generatedCalls(t *testing.T, address string) versus.Turn {
	shared := rpc.NewClient(address)
	t.Cleanup(func() { _ = shared.Close() })
	c, sent := generated.NewEchoClient(shared), make([]byte, 64)
	return versus.Calls(t, 1, func() error {
		back, err := c.Echo(context.Background(), sent)
		if err == nil && len(back) != len(sent) {
			err = fmt.Errorf("%d bytes came back", len(back))
		}
		return err
	})
}

func bounce(c echo.Client, size int) func() error {
	sent := make([]byte, size)
	return func() error {
		reply, err := c.Echo(context.Background(), sent)
		if err == nil && len(reply) != size {
			err = fmt.Errorf("%d bytes came back", len(reply))
		}
		return err
	}
}

func clientForMeasurement(t *testing.T, more ...client.Option) echo.Client {
	c, err := echo.NewClient("echo", append(more,
		client.WithTransportProtocol(transport.TTHeaderFramed),
		client.WithMetaHandler(transmeta.ClientTTHeaderHandler),
		client.WithLongConnection(connpool.IdleConfig{MaxIdlePerAddress: 64, MaxIdleGlobal: 64,
			MaxIdleTimeout: time.Minute}))...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The ends of addresses that another server than Kitex's serves.
const (
	rawServer   = "/raw"
	typedServer = "/typed"
)

func serveForMeasurement(address string, listening func()) error {
	switch {
	case strings.HasSuffix(address, rawServer):
		s, err := breezeway.Listen(address, func(_ context.Context, call *breezeway.Call) error {
			return call.Echo()
		})
		if err != nil {
			return err
		}
		listening()
		return s.Serve()
	case strings.HasSuffix(address, typedServer):
		var s rpc.Server
		generated.RegisterEcho(&s, &mirror{})
		if err := s.Listen(address); err != nil {
			return err
		}
		listening()
		return s.Serve()
	}
	listen := breezewaykitex.Server(address)
	if path, isUnix := versus.UnixPath(address); isUnix {
		listen = server.WithServiceAddr(&net.UnixAddr{Net: "unix", Name: path})
	}
	return serverOfMeasurement(listening, listen).Run()
}

func serverOfMeasurement(listening func(), options ...server.Option) server.Server {
	server.RegisterStartHook(sync.OnceFunc(listening)) // of all servers of this process
	return echo.NewServer(&mirror{over: make(chan struct{})},
		append(options, server.WithMetaHandler(transmeta.ServerTTHeaderHandler))...)
}
