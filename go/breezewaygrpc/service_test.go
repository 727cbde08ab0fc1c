package breezewaygrpc_test

import (
	"context"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
)

const (
	echoInitial  = "x-grpc-test-echo-initial"
	echoTrailing = "x-grpc-test-echo-trailing-bin"
)

// testService is the service of gRPC's interoperability test, as in testing/grpc-interop.
type testService struct {
	testpb.UnimplementedTestServiceServer
	// hangs receives when a StreamingInputCall waits for messages, and ended when the context of
	// a call that reads ends.
	hangs chan struct{}
	ended chan error
}

func newTestService() *testService {
	return &testService{hangs: make(chan struct{}, 100), ended: make(chan error, 100)}
}

func payload(size int) *testpb.Payload { return &testpb.Payload{Body: make([]byte, size)} }

func asked(s *testpb.EchoStatus) error {
	if s.GetCode() == 0 {
		return nil
	}
	return status.Error(codes.Code(s.Code), s.Message)
}

// echo returns the metadata that is to come back.
func echo(ctx context.Context) (headers, trailers metadata.MD) {
	in, _ := metadata.FromIncomingContext(ctx)
	headers, trailers = metadata.MD{}, metadata.MD{}
	headers.Append(echoInitial, in.Get(echoInitial)...)
	trailers.Append(echoTrailing, in.Get(echoTrailing)...)
	return headers, trailers
}

func (*testService) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return new(testpb.Empty), nil
}

func (*testService) UnaryCall(ctx context.Context, request *testpb.SimpleRequest) (
	*testpb.SimpleResponse, error) {
	headers, trailers := echo(ctx)
	_ = grpc.SetHeader(ctx, headers)
	_ = grpc.SetTrailer(ctx, trailers)
	if err := asked(request.ResponseStatus); err != nil {
		return nil, err
	}
	return &testpb.SimpleResponse{Payload: payload(int(request.ResponseSize))}, nil
}

func (*testService) StreamingOutputCall(request *testpb.StreamingOutputCallRequest,
	stream testpb.TestService_StreamingOutputCallServer) error {
	return respond(request, stream)
}

func respond(request *testpb.StreamingOutputCallRequest, stream interface {
	Context() context.Context
	Send(*testpb.StreamingOutputCallResponse) error
}) error {
	if err := asked(request.ResponseStatus); err != nil {
		return err
	}
	for _, parameters := range request.ResponseParameters {
		select {
		case <-time.After(time.Duration(parameters.IntervalUs) * time.Microsecond):
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
		err := stream.Send(&testpb.StreamingOutputCallResponse{
			Payload: payload(int(parameters.Size))})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *testService) StreamingInputCall(stream testpb.TestService_StreamingInputCallServer) error {
	size := 0
	for {
		s.hangs <- struct{}{}
		request, err := stream.Recv()
		if err == io.EOF {
			return stream.SendAndClose(&testpb.StreamingInputCallResponse{
				AggregatedPayloadSize: int32(size)})
		}
		if err != nil {
			<-stream.Context().Done()
			s.ended <- stream.Context().Err()
			return err
		}
		size += len(request.Payload.GetBody())
	}
}

func (s *testService) FullDuplexCall(stream testpb.TestService_FullDuplexCallServer) error {
	headers, trailers := echo(stream.Context())
	_ = stream.SetHeader(headers)
	stream.SetTrailer(trailers)
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			<-stream.Context().Done()
			s.ended <- stream.Context().Err()
			return err
		}
		if err := respond(request, stream); err != nil {
			return err
		}
	}
}

// startNative serves the service at an address, in both gears.
func startNative(t testing.TB, address string, config breezewaygrpc.Config,
	opts ...breezeway.ServerOption) (string, *testService, *breezewaygrpc.Server) {
	t.Helper()
	service, server := newTestService(), breezewaygrpc.NewServer(config)
	testpb.RegisterTestServiceServer(server, service)
	if err := server.Listen(address, opts...); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return server.Addr().String(), service, server
}

// dialNative returns a client of the service.
func dialNative(t testing.TB, address string, opts ...grpc.DialOption) testpb.TestServiceClient {
	t.Helper()
	return testpb.NewTestServiceClient(connect(t, address, opts...))
}

func connect(t testing.TB, address string, opts ...grpc.DialOption) *breezewaygrpc.Client {
	t.Helper()
	client, err := breezewaygrpc.NewClient(address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// within returns a context for a test that must not hang.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// serveHealth serves health checks in both gears.
func serveHealth(t testing.TB, address string, config breezewaygrpc.Config) (string,
	*breezewaygrpc.Server) {
	t.Helper()
	server := breezewaygrpc.NewServer(config)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	if err := server.Listen(address); err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	t.Cleanup(server.Stop)
	return server.Addr().String(), server
}
