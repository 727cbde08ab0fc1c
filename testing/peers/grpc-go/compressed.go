package main

import (
	"context"
	"log"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

const largeRequest, largeResponse = 271828, 314159

// compressed runs client_compressed_unary and server_compressed_unary, which grpc-go's own client of
// the test does not have.
func compressed(address string) {
	received := &received{}
	conn, err := grpc.NewClient(strings.TrimPrefix(address, "tcp:"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(received))
	if err != nil {
		log.Fatal(err)
	}
	client := testgrpc.NewTestServiceClient(conn)
	call := func(request *testgrpc.SimpleRequest, options ...grpc.CallOption) error {
		request.ResponseSize = largeResponse
		request.Payload = &testgrpc.Payload{Body: make([]byte, largeRequest)}
		response, err := client.UnaryCall(context.Background(), request, options...)
		if err == nil && len(response.Payload.Body) != largeResponse {
			log.Fatalf("a payload of %d bytes", len(response.Payload.Body))
		}
		return err
	}
	yes, no := &testgrpc.BoolValue{Value: true}, &testgrpc.BoolValue{Value: false}
	expecting := func(value *testgrpc.BoolValue) *testgrpc.SimpleRequest {
		return &testgrpc.SimpleRequest{ExpectCompressed: value}
	}
	if err := call(expecting(yes)); status.Code(err) != codes.InvalidArgument {
		log.Fatalf("what is not compressed is taken: %v", err)
	}
	if err := call(expecting(yes), grpc.UseCompressor(gzip.Name)); err != nil {
		log.Fatal(err)
	}
	if err := call(expecting(no)); err != nil {
		log.Fatal(err)
	}
	for _, asked := range []*testgrpc.BoolValue{yes, no} {
		if err := call(&testgrpc.SimpleRequest{ResponseCompressed: asked}); err != nil {
			log.Fatal(err)
		}
		if isSmall := received.bytes.Load() < largeResponse/2; isSmall != asked.Value {
			log.Fatalf("a response of %d bytes, compressed %v", received.bytes.Load(), asked.Value)
		}
	}
}

// received notes how many bytes the last message took on its way.
type received struct{ bytes atomic.Int64 }

func (*received) TagRPC(cx context.Context, _ *stats.RPCTagInfo) context.Context   { return cx }
func (*received) TagConn(cx context.Context, _ *stats.ConnTagInfo) context.Context { return cx }
func (*received) HandleConn(context.Context, stats.ConnStats)                      {}
func (received *received) HandleRPC(_ context.Context, event stats.RPCStats) {
	if payload, is := event.(*stats.InPayload); is {
		received.bytes.Store(int64(payload.CompressedLength))
	}
}
