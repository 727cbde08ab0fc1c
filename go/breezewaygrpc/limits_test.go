package breezewaygrpc_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
)

func TestNativeMessagesBeyondTheLimitFail(t *testing.T) {
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s",
		breezewaygrpc.Config{MaxRecvMsgSize: 10_000})
	client, ctx := dialNative(t, address), within(t)
	_, err := client.UnaryCall(ctx, simple(10_000, 1))
	isStatus(t, err, codes.ResourceExhausted, "")
	_, err = client.UnaryCall(ctx, simple(600_000, 1)) // The server replies before its end.
	isStatus(t, err, codes.ResourceExhausted, "")
	_, err = client.UnaryCall(ctx, simple(1, 20_000), grpc.MaxCallRecvMsgSize(10_000))
	isStatus(t, err, codes.ResourceExhausted, "")
	_, err = client.UnaryCall(ctx, simple(5_000, 1), grpc.MaxCallSendMsgSize(4_000))
	isStatus(t, err, codes.ResourceExhausted, "")
	_, err = client.UnaryCall(ctx, simple(1, 5<<20))
	isStatus(t, err, codes.ResourceExhausted, "")
	stream, err := client.FullDuplexCall(ctx, grpc.MaxCallSendMsgSize(4_000))
	if err != nil {
		t.Fatal(err)
	}
	isStatus(t, stream.Send(output(5_000)), codes.ResourceExhausted, "")
	_, err = stream.Recv()
	isStatus(t, err, codes.ResourceExhausted, "")
	reply, err := client.UnaryCall(ctx, simple(9_000, 5<<20), grpc.MaxCallRecvMsgSize(6<<20))
	if err != nil || len(reply.Payload.Body) != 5<<20 {
		t.Errorf("within the limits: %v", err)
	}
}

func TestNativeReplyBeyondTheCapFails(t *testing.T) {
	for _, size := range []int{100_000, 400_000} {
		address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{},
			breezeway.WithCap(4096))
		client, ctx := dialNative(t, address), within(t)
		_, err := client.UnaryCall(ctx, simple(1, size))
		isStatus(t, err, codes.ResourceExhausted, "")
		out, err := client.StreamingOutputCall(ctx, output(0, size))
		if err == nil {
			_, err = out.Recv()
		}
		isStatus(t, err, codes.ResourceExhausted, "")
		if _, err := client.EmptyCall(ctx, new(testpb.Empty)); err != nil {
			t.Error(err)
		}
	}
}

func TestNativeMetadataBeyondTheLimitFails(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	config := breezewaygrpc.Config{Unary: []grpc.UnaryServerInterceptor{func(ctx context.Context,
		request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("long", long))
		return handler(ctx, request)
	}}}
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", config)
	client := dialNative(t, address)
	_, err := client.EmptyCall(within(t), new(testpb.Empty))
	isStatus(t, err, codes.ResourceExhausted, "")
	ctx := metadata.AppendToOutgoingContext(within(t), "long", long)
	_, err = client.EmptyCall(ctx, new(testpb.Empty))
	isStatus(t, err, codes.ResourceExhausted, "")
	for _, pair := range [][2]string{{"Größe", "1"}, {"name", "Größe"}, {"a b", "1"}} {
		ctx := metadata.AppendToOutgoingContext(within(t), pair[0], pair[1])
		_, err = client.EmptyCall(ctx, new(testpb.Empty))
		isStatus(t, err, codes.Internal, "")
	}
}

func TestNativeStatusCarriesDetails(t *testing.T) {
	config := breezewaygrpc.Config{Unary: []grpc.UnaryServerInterceptor{func(context.Context, any,
		*grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
		s, err := status.New(codes.FailedPrecondition, "too young").WithDetails(
			&errdetails.ErrorInfo{Reason: "AGE", Domain: "users"})
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the interceptor: %w", s.Err())
	}}}
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", config)
	_, err := dialNative(t, address).EmptyCall(within(t), new(testpb.Empty))
	isStatus(t, err, codes.FailedPrecondition, "")
	details := status.Convert(err).Details()
	if len(details) != 1 {
		t.Fatalf("%v has the details %v", err, details)
	}
	if info, is := details[0].(*errdetails.ErrorInfo); !is || info.Reason != "AGE" {
		t.Errorf("%v", details)
	}
}

// order collects the names of interceptors.
type order struct {
	mu    sync.Mutex
	names []string
}

func (o *order) add(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = append(o.names, name)
}

func (o *order) taken() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() { o.names = nil }()
	return strings.Join(o.names, " ")
}

func (o *order) unary(name string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo,
		handler grpc.UnaryHandler) (any, error) {
		o.add(name + info.FullMethod[len("/grpc.testing.TestService"):])
		return handler(ctx, request)
	}
}

func (o *order) stream(name string) grpc.StreamServerInterceptor {
	return func(impl any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
		handler grpc.StreamHandler) error {
		o.add(name + info.FullMethod[len("/grpc.testing.TestService"):])
		return handler(impl, stream)
	}
}

func TestInterceptorsOfBothSidesSeeNativeCallsInOrder(t *testing.T) {
	seen := new(order)
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{
		Unary: []grpc.UnaryServerInterceptor{seen.unary("3"), seen.unary("4"), seen.unary("5")},
		Stream: []grpc.StreamServerInterceptor{seen.stream("3"), seen.stream("4"),
			seen.stream("5")}})
	ofCall := func(name string) grpc.UnaryClientInterceptor {
		return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			seen.add(name)
			return invoke(ctx, method, request, reply, conn, opts...)
		}
	}
	ofStream := func(name string) grpc.StreamClientInterceptor {
		return func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn,
			method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			seen.add(name)
			return open(ctx, desc, conn, method, opts...)
		}
	}
	client := dialNative(t, address, grpc.WithUnaryInterceptor(ofCall("1")),
		grpc.WithChainUnaryInterceptor(ofCall("2")), grpc.WithStreamInterceptor(ofStream("1")),
		grpc.WithChainStreamInterceptor(ofStream("2")))
	if _, err := client.EmptyCall(within(t), new(testpb.Empty)); err != nil {
		t.Fatal(err)
	}
	if got := seen.taken(); got != "1 2 3/EmptyCall 4/EmptyCall 5/EmptyCall" {
		t.Error(got)
	}
	stream, err := client.FullDuplexCall(within(t))
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.CloseSend()
	if _, err := stream.Recv(); err != io.EOF {
		t.Fatal(err)
	}
	if got := seen.taken(); got != "1 2 3/FullDuplexCall 4/FullDuplexCall 5/FullDuplexCall" {
		t.Error(got)
	}
}

func TestNativeCompressedCallsAreRepliedToCompressed(t *testing.T) {
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s",
		breezewaygrpc.Config{MaxRecvMsgSize: 5000})
	client, compressed := dialNative(t, address), grpc.UseCompressor(gzip.Name)
	reply, err := client.UnaryCall(within(t), simple(4000, 9000), compressed)
	if err != nil || len(reply.Payload.Body) != 9000 {
		t.Fatal(err)
	}
	// Its bytes are few, and its length is not.
	_, err = client.UnaryCall(within(t), simple(1<<20, 1), compressed)
	isStatus(t, err, codes.ResourceExhausted, "")
	_, err = client.UnaryCall(within(t), simple(1, 1<<20), compressed,
		grpc.MaxCallRecvMsgSize(9000))
	isStatus(t, err, codes.ResourceExhausted, "")
	_, err = client.UnaryCall(within(t), simple(1, 1), grpc.UseCompressor("none such"))
	isStatus(t, err, codes.Internal, "")
}
