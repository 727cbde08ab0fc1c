package breezewaygrpc_test

import (
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
)

// serveNative serves the service, and returns a channel that is closed once Serve has returned.
func serveNative(t *testing.T, config breezewaygrpc.Config) (address string, service *testService,
	server *breezewaygrpc.Server, served chan struct{}) {
	t.Helper()
	service, server = newTestService(), breezewaygrpc.NewServer(config)
	testpb.RegisterTestServiceServer(server, service)
	address, served = "shm:"+t.TempDir()+"/s", make(chan struct{})
	if err := server.Listen(address); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(served)
		if err := server.Serve(); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return address, service, server, served
}

func stopping(stop func()) (stopped chan struct{}) {
	stopped = make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	return stopped
}

// awaitStop makes calls until the server takes none.
func awaitStop(t *testing.T, client testpb.TestServiceClient) {
	for err := error(nil); err == nil; {
		_, err = client.EmptyCall(within(t), new(testpb.Empty))
	}
}

func TestServeReturnsBehindTheLastNativeCall(t *testing.T) {
	var isOver atomic.Bool
	address, service, server, served := serveNative(t, breezewaygrpc.Config{
		Stream: []grpc.StreamServerInterceptor{func(impl any, stream grpc.ServerStream,
			_ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			defer isOver.Store(true)
			return handler(impl, stream)
		}}})
	client := dialNative(t, address)
	stream, err := client.StreamingInputCall(within(t))
	if err != nil {
		t.Fatal(err)
	}
	<-service.hangs
	stopped := stopping(server.GracefulStop)
	awaitStop(t, client)
	select {
	case <-served:
		t.Error("Serve has returned below a call")
	default:
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		t.Error(err)
	}
	<-served
	if !isOver.Load() {
		t.Error("Serve has returned before the handler")
	}
	<-stopped
}

func TestStopEndsGracefulStopBelowAHandler(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	address, _, server, served := serveNative(t, breezewaygrpc.Config{
		Stream: []grpc.StreamServerInterceptor{func(any, grpc.ServerStream,
			*grpc.StreamServerInfo, grpc.StreamHandler) error {
			close(began)
			<-end
			return nil
		}}})
	defer close(end)
	client := dialNative(t, address)
	if _, err := client.FullDuplexCall(within(t)); err != nil {
		t.Fatal(err)
	}
	<-began
	stopped := stopping(server.GracefulStop)
	awaitStop(t, client)
	server.Stop()
	for name, done := range map[string]chan struct{}{"GracefulStop": stopped, "Serve": served} {
		select {
		case <-done:
		case <-within(t).Done():
			t.Errorf("%s waits for the handler", name)
		}
	}
}

// unreadEnd serves calls that fail at once, and begins one whose client reads no end.
func unreadEnd(t *testing.T) (server *breezewaygrpc.Server, served chan struct{},
	stream testpb.TestService_FullDuplexCallClient) {
	ended := make(chan struct{})
	address, _, server, served := serveNative(t, breezewaygrpc.Config{
		Stream: []grpc.StreamServerInterceptor{func(any, grpc.ServerStream,
			*grpc.StreamServerInfo, grpc.StreamHandler) error {
			close(ended)
			return status.Error(codes.NotFound, "no")
		}}})
	stream, err := dialNative(t, address).FullDuplexCall(within(t))
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	return server, served, stream
}

func TestGracefulStopEndsThoughAClientReadsNoEnd(t *testing.T) {
	server, _, stream := unreadEnd(t)
	select {
	case <-stopping(server.GracefulStop):
	case <-within(t).Done():
		t.Error("GracefulStop waits for the client")
	}
	_, err := stream.Recv()
	isStatus(t, err, codes.NotFound, "")
}

func TestServeReturnsBehindGracefulStop(t *testing.T) {
	server, served, _ := unreadEnd(t)
	began := time.Now()
	stopped := stopping(server.GracefulStop)
	<-served
	if took := time.Since(began); took < time.Second {
		t.Errorf("Serve has returned after %v, and clients have a second to leave", took)
	}
	<-stopped
}
