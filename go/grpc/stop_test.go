package grpc_test

import (
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	breezegrpc "github.com/breezeway-ipc/breezeway/go/grpc"
)

// serveNative serves the service, and returns a channel that is closed once Serve has returned.
func serveNative(t *testing.T, config breezegrpc.Config) (address string, service *testService,
	server *breezegrpc.Server, served chan struct{}) {
	t.Helper()
	service, server = newTestService(), breezegrpc.NewServer(config)
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

func TestServeReturnsBehindTheLastNativeCall(t *testing.T) {
	address, service, server, served := serveNative(t, breezegrpc.Config{})
	client := dialNative(t, address)
	stream, err := client.StreamingInputCall(within(t))
	if err != nil {
		t.Fatal(err)
	}
	<-service.hangs
	stopped := stopping(server.GracefulStop)
	for err == nil { // Until it has begun to stop.
		_, err = client.EmptyCall(within(t), new(testpb.Empty))
	}
	select {
	case <-served:
		t.Error("Serve has returned below a call")
	case <-time.After(100 * time.Millisecond): // Without a wait it returns well within this.
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		t.Error(err)
	}
	<-served
	<-stopped
}

func TestStopEndsGracefulStopBelowAHandler(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	address, _, server, served := serveNative(t, breezegrpc.Config{
		Stream: []grpc.StreamServerInterceptor{func(any, grpc.ServerStream,
			*grpc.StreamServerInfo, grpc.StreamHandler) error {
			close(began)
			<-end
			return nil
		}}})
	defer close(end)
	if _, err := dialNative(t, address).FullDuplexCall(within(t)); err != nil {
		t.Fatal(err)
	}
	<-began
	stopped := stopping(server.GracefulStop)
	server.Stop()
	for name, done := range map[string]chan struct{}{"GracefulStop": stopped, "Serve": served} {
		select {
		case <-done:
		case <-within(t).Done():
			t.Errorf("%s waits for the handler", name)
		}
	}
}

func TestGracefulStopEndsThoughAClientReadsNoEnd(t *testing.T) {
	ended := make(chan struct{})
	address, _, server, _ := serveNative(t, breezegrpc.Config{
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
	select {
	case <-stopping(server.GracefulStop):
	case <-within(t).Done():
		t.Error("GracefulStop waits for the client")
	}
	_, err = stream.Recv()
	isStatus(t, err, codes.NotFound, "")
}
