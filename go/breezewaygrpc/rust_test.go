package breezewaygrpc_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
	"github.com/breezeway-ipc/breezeway/go/internal/programs"
)

// rustServer is a server of the service in Rust, which prints each call and its end.
type rustServer struct {
	*programs.Program
	address string
}

func startRust(t *testing.T, address string) *rustServer {
	t.Helper()
	command := exec.Command(programs.Path(t, "BREEZEWAY_INTEROP"), "serve-grpc", address)
	server := &rustServer{programs.Start(t, command), address}
	server.says(t, "listening")
	return server
}

// says waits for a line.
func (s *rustServer) says(t *testing.T, line string) {
	t.Helper()
	for s.Says(t) != line {
	}
}

// withRust runs a test with the service in Rust, in a process of its own.
func withRust(t *testing.T, test func(t *testing.T, server *rustServer,
	client testpb.TestServiceClient)) {
	programs.Path(t, "BREEZEWAY_INTEROP")
	for _, carrier := range []string{"shm", "unix"} {
		t.Run(carrier, func(t *testing.T) {
			server := startRust(t, carrier+":"+t.TempDir()+"/s")
			test(t, server, dialNative(t, server.address, onlyNative(t)))
		})
	}
}

// onlyNative fails the test if a connection of HTTP/2 is dialled.
func onlyNative(t *testing.T) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request,
		reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, request, reply, conn, opts...)
		if state := conn.GetState().String(); state != "IDLE" {
			t.Errorf("the connection of HTTP/2 is %s", state)
		}
		return err
	})
}

func TestRustServerServesFourForms(t *testing.T) {
	withRust(t, func(t *testing.T, _ *rustServer, client testpb.TestServiceClient) {
		callEveryForm(t, client)
	})
}

func TestRustServerTakesAndSendsMetadata(t *testing.T) {
	withRust(t, func(t *testing.T, _ *rustServer, client testpb.TestServiceClient) {
		carryMetadata(t, client)
	})
}

func TestRustServerSendsStatus(t *testing.T) {
	withRust(t, func(t *testing.T, server *rustServer, client testpb.TestServiceClient) {
		returnStatus(t, client)
		other := grpc_health_v1.NewHealthClient(connect(t, server.address))
		_, err := other.Check(within(t), new(grpc_health_v1.HealthCheckRequest))
		isStatus(t, err, codes.Unimplemented, "")
	})
}

func TestRustServerTakesAndSendsCompressedMessages(t *testing.T) {
	withRust(t, func(t *testing.T, _ *rustServer, client testpb.TestServiceClient) {
		request := simple(1000, 9000)
		request.ExpectCompressed = &testpb.BoolValue{Value: true}
		request.ResponseCompressed = &testpb.BoolValue{Value: true}
		reply, err := client.UnaryCall(within(t), request, grpc.UseCompressor(gzip.Name))
		if err != nil || len(reply.Payload.Body) != 9000 {
			t.Error(err)
		}
	})
}

const inputPath = "/grpc.testing.TestService/StreamingInputCall"

func TestRustServerLearnsCancellationAndDeadline(t *testing.T) {
	withRust(t, func(t *testing.T, server *rustServer, client testpb.TestServiceClient) {
		ctx, cancel := context.WithCancel(within(t))
		stream, err := client.StreamingInputCall(ctx)
		if err != nil {
			t.Fatal(err)
		}
		server.says(t, "call "+inputPath)
		cancel()
		server.says(t, "over "+inputPath)
		_, err = stream.CloseAndRecv()
		isStatus(t, err, codes.Canceled, "")
		ctx, cancel = context.WithTimeout(within(t), 50*time.Millisecond)
		defer cancel()
		if stream, err = client.StreamingInputCall(ctx); err != nil {
			t.Fatal(err)
		}
		server.says(t, "over "+inputPath)
		_, err = stream.CloseAndRecv()
		isStatus(t, err, codes.DeadlineExceeded, "")
		callEveryForm(t, client)
	})
}

func TestRustServerThatIsKilledFailsCallsAsUnavailable(t *testing.T) {
	withRust(t, func(t *testing.T, server *rustServer, client testpb.TestServiceClient) {
		stream, err := client.StreamingInputCall(within(t))
		if err != nil {
			t.Fatal(err)
		}
		server.says(t, "call "+inputPath)
		server.Kill()
		_, err = stream.CloseAndRecv()
		isStatus(t, err, codes.Unavailable, "")
		_, err = client.EmptyCall(within(t), new(testpb.Empty))
		isStatus(t, err, codes.Unavailable, "")
		startRust(t, server.address)
		callEveryForm(t, client)
	})
}

func TestRustServerThatStopsServesCallsThatRun(t *testing.T) {
	withRust(t, func(t *testing.T, server *rustServer, client testpb.TestServiceClient) {
		stream, err := client.StreamingInputCall(within(t))
		if err != nil {
			t.Fatal(err)
		}
		server.says(t, "call "+inputPath)
		_ = server.Input.Close()
		for err == nil {
			_, err = client.EmptyCall(within(t), new(testpb.Empty))
		}
		isStatus(t, err, codes.Unavailable, "")
		sum, err := stream.CloseAndRecv()
		if err != nil || sum.AggregatedPayloadSize != 0 {
			t.Errorf("%v, %v", sum, err)
		}
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// rustCases are the cases of testing/grpc-interop that servers without an encoding of
// their own pass.
var rustCases = strings.Fields(`empty_unary large_unary client_streaming server_streaming ping_pong
	empty_stream custom_metadata status_code_and_message special_status_message
	unimplemented_method unimplemented_service timeout_on_sleeping_server cancel_after_begin
	cancel_after_first_response`)

func TestRustClientPassesItsCases(t *testing.T) {
	interop := programs.Path(t, "BREEZEWAY_INTEROP")
	for _, carrier := range []string{"shm", "unix"} {
		address, service, _ := startNative(t, carrier+":"+t.TempDir()+"/s", breezewaygrpc.Config{})
		for _, name := range rustCases {
			t.Run(carrier+"/"+name, func(t *testing.T) {
				output, err := exec.Command(interop, "call-grpc", address, name).CombinedOutput()
				if err != nil {
					t.Errorf("%v: %s", err, output)
				}
				if name == "cancel_after_first_response" {
					if err := <-service.ended; err == nil {
						t.Error("the handler's context goes on")
					}
				}
			})
		}
	}
}

func TestRustClientThatIsKilledEndsHandlersContext(t *testing.T) {
	command := programs.Path(t, "BREEZEWAY_BIN")
	for _, carrier := range []string{"shm:", "unix:"} {
		seen, over := make(chan struct{}), make(chan error, 1)
		config := breezewaygrpc.Config{Unary: []grpc.UnaryServerInterceptor{func(
			ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
			close(seen)
			<-ctx.Done()
			over <- ctx.Err()
			return nil, ctx.Err()
		}}}
		address, server := serveHealth(t, carrier+t.TempDir()+"/s", config)
		bench := exec.Command(command, "bench", "--protocol", "grpc", "--addr", address)
		if err := bench.Start(); err != nil {
			t.Fatal(err)
		}
		<-seen
		_ = bench.Process.Kill()
		_ = bench.Wait()
		if err := <-over; err == nil {
			t.Error("the handler's context goes on")
		}
		server.GracefulStop()
	}
}

// TestRustBenchMakesNativeCalls makes health checks with the command, natively.
func TestRustBenchMakesNativeCalls(t *testing.T) {
	command := programs.Path(t, "BREEZEWAY_BIN")
	for _, carrier := range []string{"shm:", "unix:"} {
		seen, interceptor := gears()
		go func() {
			for gear := range seen {
				if gear != nativeTransport {
					t.Errorf("a call of %s", gear)
				}
			}
		}()
		address, server := serveHealth(t, carrier+t.TempDir()+"/s", breezewaygrpc.Config{
			Unary: []grpc.UnaryServerInterceptor{interceptor}})
		bench := exec.Command(command, "bench", "--protocol", "grpc", "--addr", address, "--count",
			"200")
		if text, err := bench.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", address, err, text)
		}
		server.GracefulStop()
		close(seen)
	}
}
