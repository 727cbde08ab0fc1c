package breezewaygrpc_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
)

// withHandler returns the outcome of an EmptyCall that handle sees first.
func withHandler(t *testing.T, handle func(ctx context.Context) error) (headers,
	trailers metadata.MD, err error) {
	t.Helper()
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{
		Unary: []grpc.UnaryServerInterceptor{func(ctx context.Context, request any,
			_ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			if err := handle(ctx); err != nil {
				return nil, err
			}
			return handler(ctx, request)
		}}})
	_, err = dialNative(t, address).EmptyCall(within(t), new(testpb.Empty),
		grpc.Header(&headers), grpc.Trailer(&trailers))
	return headers, trailers, err
}

func TestHeaderThatIsRefusedIsNotSent(t *testing.T) {
	headers, _, err := withHandler(t, func(ctx context.Context) error {
		for _, pair := range [][2]string{{"name", "Größe"}, {"na me", "x"}, {"name", "\n"}} {
			err := grpc.SetHeader(ctx, metadata.Pairs("other", "refused", pair[0], pair[1]))
			isStatus(t, err, codes.Internal, "")
		}
		return grpc.SetHeader(ctx, metadata.Pairs("name", "a value"))
	})
	if err != nil || strings.Join(headers.Get("name"), "") != "a value" ||
		len(headers.Get("other")) != 0 {
		t.Errorf("%v, %v", headers, err)
	}
}

func TestTrailerThatCannotBeSentIsLeftOut(t *testing.T) {
	_, trailers, err := withHandler(t, func(ctx context.Context) error {
		return grpc.SetTrailer(ctx, metadata.Pairs("name", "Größe", "na me", "x", "name", "a value",
			"bytes-bin", string(binary)))
	})
	if err != nil || strings.Join(trailers.Get("name"), "") != "a value" ||
		strings.Join(trailers.Get("bytes-bin"), "") != string(binary) {
		t.Errorf("%v, %v", trailers, err)
	}
}

func TestReplyThatCannotBeSentLeavesTheHeaders(t *testing.T) {
	address, _, _ := startNative(t, "shm:"+t.TempDir()+"/s", breezewaygrpc.Config{},
		breezeway.WithCap(4096))
	ctx := metadata.AppendToOutgoingContext(within(t), echoInitial, "a value", echoTrailing,
		string(binary))
	var headers, trailers metadata.MD
	_, err := dialNative(t, address).UnaryCall(ctx, simple(1, 100_000), grpc.Header(&headers),
		grpc.Trailer(&trailers))
	isStatus(t, err, codes.ResourceExhausted, "")
	areBack(t, headers, trailers)
}

func TestTrailersOfTooManyBytesLeaveTheHeaders(t *testing.T) {
	headers, trailers, err := withHandler(t, func(ctx context.Context) error {
		_ = grpc.SetHeader(ctx, metadata.Pairs("name", "a value"))
		return grpc.SetTrailer(ctx, metadata.Pairs("long", strings.Repeat("x", 1<<16)))
	})
	isStatus(t, err, codes.ResourceExhausted, "")
	if len(headers.Get("name")) != 1 || len(trailers.Get("long")) != 0 {
		t.Errorf("%v, %v", headers, trailers)
	}
}

func TestDetailsOfAStatusReplaceThoseOfTrailers(t *testing.T) {
	_, _, err := withHandler(t, func(ctx context.Context) error {
		s, err := status.New(codes.FailedPrecondition, "mine").WithDetails(new(testpb.Empty))
		if err != nil {
			return err
		}
		// The same code with other words.
		_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-status-details-bin",
			"\x08\x09\x12\x06others"))
		return s.Err()
	})
	isStatus(t, err, codes.FailedPrecondition, "mine")
	if details := status.Convert(err).Details(); len(details) != 1 {
		t.Errorf("the details are %v", details)
	}
}
