package breezewaygrpc_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
)

func TestServerStreamResetWithinRequestHasAStatus(t *testing.T) {
	for _, carrier := range []string{"shm:", "unix:"} {
		address := hostileServer(t, carrier, func(_ context.Context, stream *breezeway.Stream) {
			stream.Reset(breezeway.CodeOverloaded)
		})
		client := dialNative(t, address)
		for range 20 {
			stream, err := client.StreamingOutputCall(within(t), output(3<<20, 1))
			if err == nil {
				_, err = stream.Recv()
			}
			isStatus(t, err, codes.ResourceExhausted, "")
		}
	}
}

func TestCancelledStreamFinishesWithoutARead(t *testing.T) {
	onNative(t, func(t *testing.T, client testpb.TestServiceClient, _ *testService) {
		ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(within(t),
			echoInitial, "a value"))
		finished, headers := make(chan error, 1), metadata.MD{}
		stream, err := client.FullDuplexCall(ctx, grpc.Header(&headers),
			grpc.OnFinish(func(err error) { finished <- err }))
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(output(1, 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Header(); err != nil {
			t.Fatal(err)
		}
		cancel()
		select {
		case err := <-finished:
			isStatus(t, err, codes.Canceled, "")
		case <-within(t).Done():
			t.Fatal("the call does not finish")
		}
		if len(headers.Get(echoInitial)) != 1 {
			t.Errorf("the headers are %v", headers)
		}
		_, err = stream.Recv()
		isStatus(t, err, codes.Canceled, "")
		callEveryForm(t, client)
	})
}

func TestCancellationBesideAReadFinishesOnce(t *testing.T) {
	onNative(t, func(t *testing.T, client testpb.TestServiceClient, _ *testService) {
		for range 50 {
			ctx, cancel := context.WithCancel(within(t))
			finished := make(chan error, 2)
			stream, err := client.FullDuplexCall(ctx,
				grpc.OnFinish(func(err error) { finished <- err }))
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.Send(output(1, 300_000, 300_000)); err != nil {
				t.Fatal(err)
			}
			go cancel()
			for err == nil {
				_, err = stream.Recv()
			}
			isStatus(t, err, codes.Canceled, "")
			isStatus(t, <-finished, codes.Canceled, "")
			if len(finished) != 0 {
				t.Error("the call finishes again")
			}
		}
	})
}

func TestRecvReturnsBehindTheCallsFinish(t *testing.T) {
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{})
	client := dialNative(t, address)
	for range 20 {
		ctx, cancel := context.WithCancel(within(t))
		finishes, isFinished := make(chan struct{}), false
		stream, err := client.FullDuplexCall(ctx, grpc.OnFinish(func(error) {
			close(finishes)
			for range 100 {
				runtime.Gosched() // Recv must not return meanwhile.
			}
			isFinished = true
		}))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		<-finishes
		_, err = stream.Recv()
		isStatus(t, err, codes.Canceled, "")
		if !isFinished {
			t.Fatal("Recv has returned before the call was finished")
		}
	}
}

func TestRecvBesideSendThatFailsReturnsItsStatus(t *testing.T) {
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{})
	client := dialNative(t, address)
	for range 20 {
		stream, err := client.FullDuplexCall(within(t), grpc.MaxCallSendMsgSize(1000))
		if err == nil {
			err = stream.Send(output(1, 1))
		}
		if err != nil {
			t.Fatal(err)
		}
		receives(t, stream, 1)
		received := make(chan error, 1)
		go func() {
			_, err := stream.Recv()
			received <- err
		}()
		for range 100 {
			runtime.Gosched() // Recv should wait by then.
		}
		isStatus(t, stream.Send(output(2000)), codes.ResourceExhausted, "")
		isStatus(t, <-received, codes.ResourceExhausted, "")
	}
}

func TestSendBehindCloseSendEndsTheCallInBothGears(t *testing.T) {
	address, service, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{})
	dialer := breezewaygrpc.NewDialer()
	defer dialer.Close()
	http2, err := grpc.NewClient("breezeway:"+address, dialer.Options()...)
	if err != nil {
		t.Fatal(err)
	}
	defer http2.Close()
	for gear, conn := range map[string]grpc.ClientConnInterface{"HTTP/2": http2,
		"native": connect(t, address)} {
		t.Run(gear, func(t *testing.T) {
			finished := make(chan error, 1)
			stream, err := testpb.NewTestServiceClient(conn).StreamingInputCall(within(t),
				grpc.OnFinish(func(err error) { finished <- err }))
			if err != nil {
				t.Fatal(err)
			}
			<-service.hangs
			_ = stream.CloseSend()
			isStatus(t, stream.Send(new(testpb.StreamingInputCallRequest)), codes.Internal, "")
			select {
			case err := <-finished:
				isStatus(t, err, codes.Internal, "")
			default:
				t.Error("the call goes on")
			}
		})
	}
}

func TestStreamContextEndsWithTheCall(t *testing.T) {
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{})
	stream, err := dialNative(t, address).FullDuplexCall(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Context().Err(); err != nil {
		t.Error("the context of a call that runs: ", err)
	}
	_ = stream.CloseSend()
	if _, err := stream.Recv(); err != io.EOF {
		t.Fatal(err)
	}
	if err := stream.Context().Err(); !errors.Is(err, context.Canceled) {
		t.Error("the context of a call that has ended: ", err)
	}
}

// TestFailedReadsReturnTheServersMemory has calls fail with a message half read, one after the
// other, in sessions whose memory holds few of these.
func TestFailedReadsReturnTheServersMemory(t *testing.T) {
	for name, end := range map[string]func(client testpb.TestServiceClient) error{
		"two messages": func(client testpb.TestServiceClient) error {
			stream, err := client.StreamingInputCall(within(t))
			if err == nil {
				_, err = stream.CloseAndRecv()
			}
			return err
		},
		"a message that is too long to send": func(client testpb.TestServiceClient) error {
			stream, err := client.FullDuplexCall(within(t), grpc.MaxCallSendMsgSize(1000))
			if err == nil {
				_, err = stream.Recv()
			}
			if err == nil {
				err = stream.Send(output(2000))
			}
			return err
		},
		"the context's end": func(client testpb.TestServiceClient) error {
			ctx, cancel := context.WithCancel(within(t))
			finished := make(chan error, 1)
			stream, err := client.FullDuplexCall(ctx,
				grpc.OnFinish(func(err error) { finished <- err }))
			if err == nil {
				_, err = stream.Recv()
			}
			cancel()
			if err == nil {
				err = <-finished
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			two := make([]byte, 100_000) // An empty message, and some of another one.
			two[headOfNext] = 3
			sent := make(chan error, 1)
			address := hostileServer(t, "shm:", func(_ context.Context, stream *breezeway.Stream) {
				sent <- stream.SendEntry(within(t),
					first(headersOnly, [][]byte{two}))
				<-stream.Context().Done()
			}, breezeway.WithCap(1<<20))
			client := dialNative(t, address)
			for i := range 30 {
				if err := end(client); status.Code(err) == codes.OK {
					t.Fatal("no error")
				}
				if err := <-sent; err != nil {
					t.Fatalf("call %d: %v", i, err)
				}
			}
		})
	}
}

// headOfNext is the place of a length's first byte in the second message of a stream.
const headOfNext = 5 + 1

func TestSenderThatWaitsForRoomEndsWithItsCall(t *testing.T) {
	const window = 2 // Messages that the server takes unread.
	end := make(chan struct{})
	config := breezewaygrpc.Config{Stream: []grpc.StreamServerInterceptor{func(any,
		grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
		<-end
		return status.Error(codes.Aborted, "it reads nothing")
	}}}
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", config,
		breezeway.WithStreamWindow(window, 1<<20))
	stream, err := dialNative(t, address).StreamingInputCall(within(t))
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{}, 1000)
	go func() {
		request := &testpb.StreamingInputCallRequest{Payload: payload(100_000)}
		for stream.Send(request) == nil {
			sent <- struct{}{}
		}
		close(sent)
	}()
	for range window {
		<-sent
	}
	close(end) // There is no room for the next message.
	for range sent {
		t.Error("the server has taken a message more than its window")
	}
	_, err = stream.CloseAndRecv()
	isStatus(t, err, codes.Aborted, "")
}
