package breezewaygrpc_test

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
)

// readingBeside serves calls by a handler that ends while a goroutine of its reads messages. The
// channel gets the error of each such goroutine's last read.
func readingBeside(t *testing.T, end func() error) (testpb.TestServiceClient, chan error) {
	reads := make(chan error, 1)
	config := breezewaygrpc.Config{Stream: []grpc.StreamServerInterceptor{func(_ any,
		stream grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		began := make(chan struct{}, 1)
		go func() {
			for {
				err := stream.RecvMsg(new(testpb.StreamingInputCallRequest))
				if err != nil {
					reads <- err
					return
				}
				select {
				case began <- struct{}{}:
				default:
				}
			}
		}()
		<-began
		return end()
	}}}
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", config)
	return dialNative(t, address), reads
}

// sendUntilTheEnd sends messages until the call is over.
func sendUntilTheEnd(t *testing.T, client testpb.TestServiceClient, code codes.Code) {
	t.Helper()
	stream, err := client.StreamingInputCall(within(t))
	if err != nil {
		t.Fatal(err)
	}
	request := &testpb.StreamingInputCallRequest{Payload: payload(2000)}
	for stream.Send(request) == nil {
	}
	isStatus(t, stream.RecvMsg(new(testpb.StreamingInputCallResponse)), code, "")
}

func TestReaderMayOutliveItsHandler(t *testing.T) {
	client, reads := readingBeside(t, func() error { return status.Error(codes.Aborted, "over") })
	for range 20 {
		sendUntilTheEnd(t, client, codes.Aborted)
		isStatus(t, <-reads, codes.Canceled, "")
	}
}

func TestReaderMayOutliveAHandlerThatPanics(t *testing.T) {
	client, reads := readingBeside(t, func() error { panic("of this handler") })
	sendUntilTheEnd(t, client, codes.Internal)
	isStatus(t, <-reads, codes.Canceled, "")
}
