package kitex_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/connpool"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/breezeway-ipc/breezeway/go/internal/versus"
	breezekitex "github.com/breezeway-ipc/breezeway/go/kitex"
	"github.com/breezeway-ipc/breezeway/go/kitex/kitex_gen/echo/echo"
)

func TestMain(m *testing.M) { versus.Main(m, serveForMeasurement) }

// TestMeasureBesideUnix prints calls of Kitex over shared memory beside those over unix sockets
// with its own transport: go test -run MeasureBesideUnix . -versus 4s
func TestMeasureBesideUnix(t *testing.T) {
	versus.Ask(t)
	shm, unix := versus.Servers(t)
	memory := clientForMeasurement(t, breezekitex.WithDialer(shm)...)
	socket := clientForMeasurement(t, client.WithHostPorts(unix))
	bounce := func(c echo.Client, size int) func() error {
		sent := make([]byte, size)
		return func() error {
			reply, err := c.Bounce(context.Background(), sent)
			if err == nil && len(reply) != size {
				err = fmt.Errorf("%d bytes came back", len(reply))
			}
			return err
		}
	}
	row := func(name string, goroutines, size int) {
		versus.Row(t, name, goroutines, bounce(socket, size), bounce(memory, size))
	}
	row("Kitex, 64 B", 1, 64)
	row("Kitex, 64 B, 64 at once", 64, 64)
	row("Kitex, 1 MiB there and back", 1, 1<<20)
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

func serveForMeasurement(address string, listening func()) error {
	options := []server.Option{server.WithMetaHandler(transmeta.ServerTTHeaderHandler)}
	if path, isUnix := versus.UnixPath(address); isUnix {
		options = append(options, server.WithServiceAddr(&net.UnixAddr{Net: "unix", Name: path}))
	} else {
		listener, err := breezekitex.Listen(address)
		if err != nil {
			return err
		}
		options = append(options, breezekitex.WithListener(listener)...)
	}
	s := echo.NewServer(&mirror{over: make(chan struct{})}, options...)
	server.RegisterStartHook(listening)
	return s.Run()
}
