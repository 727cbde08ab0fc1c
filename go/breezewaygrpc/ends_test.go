package breezewaygrpc_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
)

func TestNativeCancellationEndsHandlersContext(t *testing.T) {
	onNative(t, func(t *testing.T, client testpb.TestServiceClient, service *testService) {
		ctx, cancel := context.WithCancel(within(t))
		stream, err := client.StreamingInputCall(ctx)
		if err != nil {
			t.Fatal(err)
		}
		<-service.hangs
		cancel()
		if err := <-service.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler's context: %v", err)
		}
		_, err = stream.CloseAndRecv()
		isStatus(t, err, codes.Canceled, "")
		callEveryForm(t, client)
	})
}

func TestNativeDeadlineEndsCallOnBothSides(t *testing.T) {
	onNative(t, func(t *testing.T, client testpb.TestServiceClient, service *testService) {
		ctx, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
		defer cancel()
		stream, err := client.StreamingInputCall(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-service.ended; err == nil {
			t.Error("the handler's context goes on")
		}
		_, err = stream.CloseAndRecv()
		isStatus(t, err, codes.DeadlineExceeded, "")
		request := output(0, 1)
		request.ResponseParameters[0].IntervalUs = 30_000_000
		short, cancel := context.WithTimeout(within(t), 10*time.Millisecond)
		defer cancel()
		out, err := client.StreamingOutputCall(short, request)
		if err == nil {
			_, err = out.Recv()
		}
		isStatus(t, err, codes.DeadlineExceeded, "")
		past, cancel := context.WithTimeout(within(t), -time.Second)
		defer cancel()
		_, err = client.EmptyCall(past, new(testpb.Empty))
		isStatus(t, err, codes.DeadlineExceeded, "")
	})
}

func TestNativeDeadlineReachesHandler(t *testing.T) {
	left := make(chan time.Duration, 1)
	config := breezewaygrpc.Config{Unary: []grpc.UnaryServerInterceptor{func(ctx context.Context,
		request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		deadline, has := ctx.Deadline()
		if !has {
			deadline = time.Now()
		}
		left <- time.Until(deadline)
		return handler(ctx, request)
	}}}
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", config)
	client := dialNative(t, address)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if _, err := client.EmptyCall(ctx, new(testpb.Empty)); err != nil {
		t.Fatal(err)
	}
	if got := <-left; got > time.Hour || got < 50*time.Minute {
		t.Errorf("%v are left", got)
	}
	if _, err := client.EmptyCall(context.Background(), new(testpb.Empty)); err != nil {
		t.Fatal(err)
	}
	if got := <-left; got > 0 {
		t.Errorf("%v are left without a deadline", got)
	}
}

func TestNativeHandlerThatPanicsFailsItsCallOnly(t *testing.T) {
	config := breezewaygrpc.Config{Stream: []grpc.StreamServerInterceptor{func(any,
		grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
		panic("of this handler")
	}}}
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", config)
	client := dialNative(t, address)
	stream, err := client.FullDuplexCall(within(t))
	if err == nil {
		_, err = stream.Recv()
	}
	isStatus(t, err, codes.Internal, "")
	if _, err := client.EmptyCall(within(t), new(testpb.Empty)); err != nil {
		t.Error(err)
	}
}

func TestNativeCallsWithoutServerAreUnavailable(t *testing.T) {
	path := t.TempDir() + "/s"
	client := dialNative(t, "shm:"+path)
	_, err := client.EmptyCall(within(t), new(testpb.Empty))
	isStatus(t, err, codes.Unavailable, "")
	_, err = client.FullDuplexCall(within(t))
	isStatus(t, err, codes.Unavailable, "")
	waited := make(chan error, 1)
	go func() {
		_, err := client.EmptyCall(within(t), new(testpb.Empty), grpc.WaitForReady(true))
		waited <- err
	}()
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = client.EmptyCall(short, new(testpb.Empty), grpc.WaitForReady(true))
	isStatus(t, err, codes.DeadlineExceeded, "")
	startNative(t, "shm:"+path, breezewaygrpc.Config{})
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

func TestClosedClientCancelsItsCalls(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		address, service, _ := startNative(t, address, breezewaygrpc.Config{}, ends.Server...)
		conn := connect(t, address, breezewaygrpc.WithSessionOptions(ends.Client...))
		client := testpb.NewTestServiceClient(conn)
		stream, err := client.StreamingInputCall(within(t))
		if err != nil {
			t.Fatal(err)
		}
		<-service.hangs
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		<-service.ended
		_, err = stream.CloseAndRecv()
		isStatus(t, err, codes.Canceled, "")
		_, err = client.EmptyCall(within(t), new(testpb.Empty))
		isStatus(t, err, codes.Canceled, "")
	})
}

func TestNativeServerThatStopsFailsCallsAsUnavailable(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		address, service, server := startNative(t, address, breezewaygrpc.Config{}, ends.Server...)
		client := dialNative(t, address, breezewaygrpc.WithSessionOptions(ends.Client...))
		stream, err := client.StreamingInputCall(within(t))
		if err != nil {
			t.Fatal(err)
		}
		<-service.hangs
		server.Stop()
		if err := <-service.ended; err == nil {
			t.Error("the handler's context goes on")
		}
		_, err = stream.CloseAndRecv()
		isStatus(t, err, codes.Unavailable, "")
		_, err = client.EmptyCall(within(t), new(testpb.Empty))
		isStatus(t, err, codes.Unavailable, "")
	})
}

func TestGracefulStopServesNativeCallsThatRun(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		address, service, server := startNative(t, address, breezewaygrpc.Config{}, ends.Server...)
		client := dialNative(t, address, breezewaygrpc.WithSessionOptions(ends.Client...))
		stream, err := client.StreamingInputCall(within(t))
		if err != nil {
			t.Fatal(err)
		}
		<-service.hangs
		stopped := make(chan struct{})
		go func() {
			server.GracefulStop()
			close(stopped)
		}()
		// Until it has begun to stop, which refuses new calls.
		for err == nil {
			_, err = client.EmptyCall(within(t), new(testpb.Empty))
		}
		isStatus(t, err, codes.Unavailable, "")
		select {
		case <-stopped:
			t.Error("the server has stopped below a call")
		default:
		}
		if err := stream.Send(&testpb.StreamingInputCallRequest{Payload: payload(9)}); err != nil {
			t.Fatal(err)
		}
		sum, err := stream.CloseAndRecv()
		if err != nil || sum.AggregatedPayloadSize != 9 {
			t.Errorf("%v, %v", sum, err)
		}
		<-stopped
	})
}

func TestGracefulStopWaitsForHandlersWhoseClientIsGone(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	config := breezewaygrpc.Config{Unary: []grpc.UnaryServerInterceptor{func(ctx context.Context,
		request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		close(began)
		<-end
		return handler(ctx, request)
	}}}
	address, _, server := startNative(t, "shm:"+t.TempDir()+"/s", config)
	conn := connect(t, address)
	go func() {
		_, _ = testpb.NewTestServiceClient(conn).EmptyCall(within(t), new(testpb.Empty))
	}()
	<-began
	_ = conn.Close()
	stopped := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(stopped)
	}()
	for err := error(nil); err == nil; { // Until all sessions are over.
		var session *breezeway.Session
		if session, err = breezeway.Dial(within(t), address); err == nil {
			_ = session.Close()
		}
	}
	select {
	case <-stopped:
		t.Error("the server has stopped below a handler")
	default:
	}
	close(end)
	<-stopped
}

func TestFiveHundredNativeCallsRunAtOneTime(t *testing.T) {
	onNative(t, func(t *testing.T, client testpb.TestServiceClient, _ *testService) {
		var all sync.WaitGroup
		for i := range 500 {
			all.Add(1)
			go func() {
				defer all.Done()
				reply, err := client.UnaryCall(within(t), simple(10*i, 20*i))
				if err != nil || len(reply.Payload.Body) != 20*i {
					t.Errorf("call %d: %v", i, err)
				}
			}()
		}
		all.Wait()
	})
}
