package breezewaygrpc_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
	"github.com/breezeway-ipc/breezeway/go/internal/versus"
)

func TestMain(m *testing.M) { versus.Main(m, serveForMeasurement) }

// TestMeasureBesideUnix prints calls of grpc-go over shared memory beside those over its own unix
// sockets:
//
//	go test -run MeasureBesideUnix . -versus 4s -v
func TestMeasureBesideUnix(t *testing.T) {
	versus.Ask(t)
	shm, unix := versus.Servers(t)
	measure(t, "grpc-go, ", dialForMeasurement(t, "unix:"+unix),
		dialForMeasurement(t, "passthrough:///test", breezewaygrpc.WithDialer(shm)))
}

// TestMeasureBound prints, in the columns of shm, calls over a pipe within one process, beside
// those over a unix socket within it. The pipe is the bound for a connection that wakes no other
// process and makes no system call. It copies bytes twice, as any net.Conn must whose writers do
// not wait.
func TestMeasureBound(t *testing.T) {
	versus.Ask(t)
	path := filepath.Join(t.TempDir(), "unix")
	unix, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	pipe := bufconn.Listen(2 << 20)
	for _, listener := range []net.Listener{unix, pipe} {
		server := serverForMeasurement()
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
	}
	measure(t, "in one process, ", dialForMeasurement(t, "unix:"+path),
		dialForMeasurement(t, "passthrough:///test", grpc.WithContextDialer(
			func(ctx context.Context, _ string) (net.Conn, error) {
				return pipe.DialContext(ctx)
			})))
}

func measure(t *testing.T, where string, socket, memory grpc.ClientConnInterface) {
	check := func(conn grpc.ClientConnInterface) func() error {
		client := grpc_health_v1.NewHealthClient(conn)
		return func() error {
			_, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
			return err
		}
	}
	large := func(conn grpc.ClientConnInterface) func() error {
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
	versus.Row(t, where+"health check", 1, check(socket), check(memory))
	versus.Row(t, where+"health check, 64 at once", 64, check(socket), check(memory))
	versus.Row(t, where+"1 MiB there and back", 1, large(socket), large(memory))
}

func dialForMeasurement(t testing.TB, target string, more ...grpc.DialOption) *grpc.ClientConn {
	conn, err := grpc.NewClient(target, append(more,
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// serveForMeasurement serves by grpc-go on a unix socket, and in both gears in shared memory.
func serveForMeasurement(address string, listening func()) error {
	path, isUnix := versus.UnixPath(address)
	if !isUnix {
		server := breezewaygrpc.NewServer(breezewaygrpc.Config{})
		registerForMeasurement(server)
		if err := server.Listen(address); err != nil {
			return err
		}
		listening()
		return server.Serve()
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	listening()
	return serverForMeasurement().Serve(listener)
}

func serverForMeasurement() *grpc.Server {
	server := grpc.NewServer()
	registerForMeasurement(server)
	return server
}

func registerForMeasurement(server grpc.ServiceRegistrar) {
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	server.RegisterService(&bounceService, nil)
}

const bouncePath = "/breezeway.echo.v1.Echo/Echo"

// bounceService returns its request, like the service of the command's, which has a message of the
// same bytes.
var bounceService = grpc.ServiceDesc{ServiceName: "breezeway.echo.v1.Echo",
	HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Echo", Handler: bounce}}}

func bounce(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any,
	error) {
	value := new(wrapperspb.BytesValue)
	return value, decode(value)
}
