package grpc_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/wrapperspb"

	breezegrpc "github.com/breezeway-ipc/breezeway/go/grpc"
	"github.com/breezeway-ipc/breezeway/go/internal/versus"
)

func TestMain(m *testing.M) { versus.Main(m, serveForMeasurement) }

// TestMeasureBesideUnix prints calls of grpc-go over shared memory beside those over its own unix
// sockets: go test -run MeasureBesideUnix . -versus 4s
func TestMeasureBesideUnix(t *testing.T) {
	versus.Ask(t)
	shm, unix := versus.Servers(t)
	memory := dialForMeasurement(t, "passthrough:///test", breezegrpc.WithDialer(shm))
	socket := dialForMeasurement(t, "unix:"+unix)
	check := func(conn *grpc.ClientConn) func() error {
		client := grpc_health_v1.NewHealthClient(conn)
		return func() error {
			_, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
			return err
		}
	}
	large := func(conn *grpc.ClientConn) func() error {
		sent := wrapperspb.Bytes(make([]byte, 1<<20))
		return func() error {
			reply := new(wrapperspb.BytesValue)
			err := conn.Invoke(context.Background(), bouncePath, sent, reply)
			if err == nil && len(reply.Value) != len(sent.Value) {
				err = fmt.Errorf("%d bytes came back", len(reply.Value))
			}
			return err
		}
	}
	versus.Row(t, "grpc-go, health check", 1, check(socket), check(memory))
	versus.Row(t, "grpc-go, health check, 64 at once", 64, check(socket), check(memory))
	versus.Row(t, "grpc-go, 1 MiB there and back", 1, large(socket), large(memory))
}

func dialForMeasurement(t *testing.T, target string, more ...grpc.DialOption) *grpc.ClientConn {
	conn, err := grpc.NewClient(target, append(more,
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func serveForMeasurement(address string, listening func()) (err error) {
	var listener net.Listener
	if path, isUnix := versus.UnixPath(address); isUnix {
		listener, err = net.Listen("unix", path)
	} else {
		listener, err = breezegrpc.Listen(address)
	}
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	server.RegisterService(&bounceService, nil)
	listening()
	return server.Serve(listener)
}

const bouncePath = "/test.Bounce/Bounce"

// bounceService gives back what it gets.
var bounceService = grpc.ServiceDesc{ServiceName: "test.Bounce", HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Bounce", Handler: func(_ any, _ context.Context,
		decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		value := new(wrapperspb.BytesValue)
		return value, decode(value)
	}}}}
