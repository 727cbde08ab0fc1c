package kitex_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
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
// with its own transport: go test -run MeasureBesideUnix . -versus 4s -v
func TestMeasureBesideUnix(t *testing.T) {
	versus.Ask(t)
	shm, unix := versus.Servers(t)
	measure(t, "Kitex, ", clientForMeasurement(t, client.WithHostPorts(unix)),
		clientForMeasurement(t, breezekitex.WithDialer(shm)...))
}

// TestMeasureBound prints, as those over shm, calls over a pipe within one process, under the
// handlers of this module, beside those over a unix socket within it: what a connection gives that
// wakes no other process, asks the kernel for nothing and copies bytes once.
func TestMeasureBound(t *testing.T) {
	versus.Ask(t)
	unix := &net.UnixAddr{Net: "unix", Name: filepath.Join(t.TempDir(), "unix")}
	pipe := pipes{make(chan net.Conn)}
	for _, options := range [][]server.Option{
		{server.WithServiceAddr(unix)}, breezekitex.WithListener(pipe)} {
		listening := make(chan struct{})
		s := serverOfMeasurement(func() { close(listening) }, options...)
		go func() { _ = s.Run() }()
		<-listening
		t.Cleanup(func() { _ = s.Stop() })
	}
	measure(t, "in one process, ", clientForMeasurement(t, client.WithHostPorts(unix.Name)),
		clientForMeasurement(t, breezekitex.Over(pipe.dial)...))
}

// pipes is a listener of pipes in memory.
type pipes struct{ dialled chan net.Conn }

func (p pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.dialled <- there
	return here
}

func (p pipes) Accept() (net.Conn, error) { return <-p.dialled, nil }
func (p pipes) Close() error              { return nil }
func (p pipes) Addr() net.Addr            { return &net.UnixAddr{Net: "unix", Name: "pipe"} }

func measure(t *testing.T, where string, socket, memory echo.Client) {
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
	var options []server.Option
	if path, isUnix := versus.UnixPath(address); isUnix {
		options = append(options, server.WithServiceAddr(&net.UnixAddr{Net: "unix", Name: path}))
	} else {
		listener, err := breezekitex.Listen(address)
		if err != nil {
			return err
		}
		options = append(options, breezekitex.WithListener(listener)...)
	}
	return serverOfMeasurement(listening, options...).Run()
}

func serverOfMeasurement(listening func(), options ...server.Option) server.Server {
	server.RegisterStartHook(sync.OnceFunc(listening)) // of all servers of this process
	return echo.NewServer(&mirror{over: make(chan struct{})},
		append(options, server.WithMetaHandler(transmeta.ServerTTHeaderHandler))...)
}
