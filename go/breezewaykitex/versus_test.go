package breezewaykitex_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/connpool"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo/echo"
	"github.com/breezeway-ipc/breezeway/go/internal/versus"
)

func TestMain(m *testing.M) { versus.Main(m, serveForMeasurement) }

// TestMeasureBesideUnix prints calls of Kitex over shared memory beside those over unix sockets
// with its own transport: go test -run MeasureBesideUnix . -versus 4s -v
func TestMeasureBesideUnix(t *testing.T) {
	versus.Ask(t)
	shm, unix := versus.Servers(t)
	measure(t, "Kitex, ", clientForMeasurement(t, client.WithHostPorts(unix)),
		clientForMeasurement(t, breezewaykitex.Client(shm)))
}

func measure(t *testing.T, where string, socket, memory echo.Client) {
	bounce := func(c echo.Client, size int) func() error {
		sent := make([]byte, size)
		return func() error {
			reply, err := c.Echo(context.Background(), sent)
			if err == nil && len(reply) != size {
				err = fmt.Errorf("%d bytes came back", len(reply))
			}
			return err
		}
	}
	row := func(name string, goroutines, size int) {
		versus.Row(t, name, goroutines, bounce(socket, size), bounce(memory, size))
	}
	row(where+"64 B", 1, 64)
	row(where+"64 B, 64 at once", 64, 64)
	row(where+"1 MiB there and back", 1, 1<<20)
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
