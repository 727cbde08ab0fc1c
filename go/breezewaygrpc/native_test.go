package breezewaygrpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
)

// onNative runs a test with a native server in Go on each carrier.
func onNative(t *testing.T, test func(t *testing.T, client testpb.TestServiceClient,
	service *testService)) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		address, service, _ := startNative(t, address, breezewaygrpc.Config{}, ends.Server...)
		test(t, dialNative(t, address, breezewaygrpc.WithSessionOptions(ends.Client...)), service)
	})
}

func simple(size, responseSize int) *testpb.SimpleRequest {
	return &testpb.SimpleRequest{ResponseSize: int32(responseSize), Payload: payload(size)}
}

func output(size int, responses ...int) *testpb.StreamingOutputCallRequest {
	request := &testpb.StreamingOutputCallRequest{Payload: payload(size)}
	for _, size := range responses {
		request.ResponseParameters = append(request.ResponseParameters,
			&testpb.ResponseParameters{Size: int32(size)})
	}
	return request
}

func TestNativeCallsOfFourFormsSucceed(t *testing.T) {
	onNative(t, func(t *testing.T, client testpb.TestServiceClient, _ *testService) {
		callEveryForm(t, client)
	})
}

// callEveryForm makes calls of each form.
func callEveryForm(t *testing.T, client testpb.TestServiceClient) {
	t.Helper()
	ctx := within(t)
	if _, err := client.EmptyCall(ctx, new(testpb.Empty)); err != nil {
		t.Fatal("empty: ", err)
	}
	for _, size := range []int{0, 1, 40, 95, 104, 105, 16 << 10, 271_828, 1 << 20, 3 << 20} {
		reply, err := client.UnaryCall(ctx, simple(size, size+1))
		if err != nil || len(reply.Payload.Body) != size+1 {
			t.Fatalf("unary, %d bytes: %v", size, err)
		}
	}
	in, err := client.StreamingInputCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{27_182, 8, 1_828, 45_904, 1 << 20} {
		if err := in.Send(&testpb.StreamingInputCallRequest{Payload: payload(size)}); err != nil {
			t.Fatal("client stream: ", err)
		}
	}
	sum, err := in.CloseAndRecv()
	if err != nil || sum.AggregatedPayloadSize != 74_922+1<<20 {
		t.Fatalf("client stream: %v, %v", sum, err)
	}
	sizes := []int{31_415, 9, 2_653, 58_979, 1 << 20, 0}
	out, err := client.StreamingOutputCall(ctx, output(0, sizes...))
	if err != nil {
		t.Fatal(err)
	}
	receives(t, out, sizes...)
	if _, err := out.Recv(); err != io.EOF {
		t.Fatal("server stream: ", err)
	}
	both, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range sizes {
		if err := both.Send(output(size, size)); err != nil {
			t.Fatal("both: ", err)
		}
		receives(t, both, size)
	}
	if err := both.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := both.Recv(); err != io.EOF {
		t.Fatal("both: ", err)
	}
}

func receives(t *testing.T, stream interface {
	Recv() (*testpb.StreamingOutputCallResponse, error)
}, sizes ...int) {
	t.Helper()
	for _, size := range sizes {
		message, err := stream.Recv()
		if err != nil || len(message.Payload.GetBody()) != size {
			t.Fatalf("%d bytes: %d, %v", size, len(message.GetPayload().GetBody()), err)
		}
	}
}

var binary = []byte{0xab, 0, 0xff, '\n'}

func TestNativeMetadataTravelsBothWays(t *testing.T) {
	onNative(t, func(t *testing.T, client testpb.TestServiceClient, _ *testService) {
		carryMetadata(t, client)
	})
}

// carryMetadata has metadata come back, as headers and as trailers.
func carryMetadata(t *testing.T, client testpb.TestServiceClient) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(within(t), echoInitial, "a value", echoTrailing,
		string(binary), "te", "reserved", "grpc-status", "9")
	var headers, trailers metadata.MD
	_, err := client.UnaryCall(ctx, simple(1, 1), grpc.Header(&headers), grpc.Trailer(&trailers))
	if err != nil {
		t.Fatal(err)
	}
	areBack(t, headers, trailers)
	stream, err := client.FullDuplexCall(ctx)
	if err == nil {
		err = stream.Send(output(1, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	if headers, err = stream.Header(); err != nil {
		t.Fatal(err)
	}
	receives(t, stream, 1)
	_ = stream.CloseSend()
	if _, err := stream.Recv(); err != io.EOF {
		t.Fatal(err)
	}
	areBack(t, headers, stream.Trailer())
}

func areBack(t *testing.T, headers, trailers metadata.MD) {
	t.Helper()
	if got := headers.Get(echoInitial); !slices.Equal(got, []string{"a value"}) {
		t.Errorf("%q is a header", got)
	}
	if got := trailers.Get(echoTrailing); len(got) != 1 || !bytes.Equal([]byte(got[0]), binary) {
		t.Errorf("%q is a trailer", got)
	}
}

const special = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈, 100 %\t\n"

func TestNativeStatusHasCodeAndWords(t *testing.T) {
	onNative(t, func(t *testing.T, client testpb.TestServiceClient, _ *testService) {
		returnStatus(t, client)
	})
}

// returnStatus has both kinds of call fail with the requested status.
func returnStatus(t *testing.T, client testpb.TestServiceClient) {
	t.Helper()
	ctx, wanted := within(t), &testpb.EchoStatus{Code: 5, Message: special}
	_, err := client.UnaryCall(ctx, &testpb.SimpleRequest{ResponseStatus: wanted})
	isStatus(t, err, codes.NotFound, special)
	stream, err := client.FullDuplexCall(ctx)
	if err == nil {
		err = stream.Send(&testpb.StreamingOutputCallRequest{ResponseStatus: wanted})
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	isStatus(t, err, codes.NotFound, special)
	_, err = client.UnimplementedCall(ctx, new(testpb.Empty))
	isStatus(t, err, codes.Unimplemented, "")
}

func isStatus(t *testing.T, err error, code codes.Code, words string) {
	t.Helper()
	if s, is := status.FromError(err); !is || err == nil || s.Code() != code ||
		words != "" && s.Message() != words {
		t.Errorf("%v, and not %v %q", err, code, words)
	}
}

func TestNativeUnknownServiceAndMethodAreUnimplemented(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		address, _, _ = startNative(t, address, breezewaygrpc.Config{}, ends.Server...)
		client := connect(t, address, breezewaygrpc.WithSessionOptions(ends.Client...))
		for _, path := range []string{"/grpc.testing.UnimplementedService/UnimplementedCall",
			"/grpc.testing.TestService/NoSuchCall", "/", "//", "/grpc.testing.TestService"} {
			err := client.Invoke(within(t), path, new(testpb.Empty), new(testpb.Empty))
			isStatus(t, err, codes.Unimplemented, "")
		}
	})
}

func TestNativeCallOfMalformedPathIsNotSent(t *testing.T) {
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{})
	client := connect(t, address)
	for _, path := range []string{"", "Service/Call", "/Service/Call?x", "/Service/\n"} {
		err := client.Invoke(within(t), path, new(testpb.Empty), new(testpb.Empty))
		isStatus(t, err, codes.Internal, fmt.Sprintf("malformed method name: %q", path))
	}
}

func TestNativePeerOptionNamesServer(t *testing.T) {
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{})
	var server peer.Peer
	_, err := dialNative(t, address).EmptyCall(within(t), new(testpb.Empty), grpc.Peer(&server))
	info, is := server.AuthInfo.(breezewaygrpc.AuthInfo)
	if err != nil || !is || !info.Peer.IsSameUser() {
		t.Errorf("%v, %v", server, err)
	}
}

func TestNativeOnFinishGetsTheOutcome(t *testing.T) {
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{})
	client := dialNative(t, address)
	outcomes := make(chan error, 1)
	option := grpc.OnFinish(func(err error) { outcomes <- err })
	if _, err := client.EmptyCall(within(t), new(testpb.Empty), option); err != nil {
		t.Fatal(err)
	}
	if err := <-outcomes; err != nil {
		t.Error(err)
	}
	_, failed := client.UnimplementedCall(within(t), new(testpb.Empty), option)
	if err := <-outcomes; !errors.Is(err, failed) {
		t.Errorf("%v, and not %v", err, failed)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := client.FullDuplexCall(ctx, option)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = stream.Recv()
	isStatus(t, err, codes.Canceled, "")
	if err := <-outcomes; status.Code(err) != codes.Canceled {
		t.Error(err)
	}
}
