package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// A ServerStream is a server's end of a stream, for generated code.
type ServerStream struct {
	native   *breezeway.Stream
	method   Method
	ctx      served
	observed context.Context // the handler's
	hasBegun bool            // the first entry was sent
}

// Method returns the method that the client has opened the stream for.
func (s *ServerStream) Method() Method { return s.method }

// Context returns the context of the stream's handler, which ends with the stream.
func (s *ServerStream) Context() context.Context { return s.observed }

// serveStream serves a stream.
func (s *Server) serveStream(opened context.Context, native *breezeway.Stream) {
	m, has := s.methods[native.Method()]
	if !has {
		native.Reset(breezeway.CodeNoSuchMethod)
		return
	}
	block, has := native.Metadata()
	stream := &ServerStream{native: native, method: m.Method}
	err := stream.ctx.begin(opened, native.Carrier(), block, has)
	switch {
	case m.stream == nil:
		err = &Exception{Kind: KindInvalidMessageType,
			Message: fmt.Sprintf("%v is called, and was opened as a stream", m)}
		_ = stream.End(err, nil)
	case err != nil:
		_ = stream.End(err, nil)
	default:
		// The client has learnt of an error.
		_ = s.observers.around(&stream.ctx, m.Method, nil, func(ctx context.Context) error {
			stream.observed = ctx
			return m.stream(ctx, stream)
		})
	}
	stream.drain()
	native.Reset(breezeway.CodeCancelled) // The client may wait to send.
}

// farewell is the time for which a server takes messages behind the end of a stream's handler, so
// that a client which is about to end is not reset.
const farewell = time.Second

// drain releases the client's messages until its end.
func (s *ServerStream) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	for ctx.Err() == nil { // Recv returns a message that has arrived in any case.
		message, err := s.native.Recv(ctx)
		if err != nil {
			return
		}
		message.Release()
	}
}

// Request reads the only request of a method that streams replies.
func (s *ServerStream) Request(ctx context.Context, request thrift.Struct) error {
	err := s.recv(ctx, request)
	if errors.Is(err, io.EOF) {
		return &Exception{Kind: KindProtocolError, Message: "the stream has no request"}
	}
	return err
}

// recv receives the client's next message; io.EOF behind the last one.
func (s *ServerStream) recv(ctx context.Context, message thrift.Struct) error {
	next, err := s.native.Recv(ctx)
	if err != nil {
		return err
	}
	defer next.Release()
	return readMessage(next.Bytes(), message)
}

// send sends a message behind the metadata that was set before it.
func (s *ServerStream) send(ctx context.Context, message thrift.Struct) error {
	if !s.hasBegun {
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
	return sendStruct(ctx, s.native, message)
}

// begin sends the metadata that was set so far, if there is any, in an entry without a message. A
// client that takes no metadata at all gets none of it.
func (s *ServerStream) begin(ctx context.Context) error {
	s.hasBegun = true
	block, err := s.ctx.takeBlock()
	if err != nil || block == nil {
		return err
	}
	err = s.native.SendEntry(ctx, breezeway.Entry{Metadata: block})
	var tooMuch *breezeway.TooMuchMetadataError
	if errors.As(err, &tooMuch) && tooMuch.Max == 0 {
		return s.native.SendEntry(ctx, breezeway.Entry{})
	}
	return err
}

// SendHeader sends the metadata that was set so far, before the first message. It has no effect
// once metadata or a message was sent.
func (s *ServerStream) SendHeader(ctx context.Context) error {
	if s.hasBegun {
		return nil
	}
	return s.begin(ctx)
}

// End ends a stream whose handler has returned err. Result is an empty one of the method. End
// returns the error that observers get, the handler's: a client that is gone before the stream's
// end fails no handler.
func (s *ServerStream) End(err error, result Result) error {
	s.finish(err, result)
	return outcome(err, result)
}

// EndWith ends a stream of requests with its only reply, or like End.
func (s *ServerStream) EndWith(reply thrift.Struct, err error, result Result) error {
	failed := err
	if err == nil {
		failed = s.send(&s.ctx, reply)
	}
	s.finish(failed, result)
	return outcome(err, result)
}

// finish sends the end of a stream, or resets it.
func (s *ServerStream) finish(err error, result Result) {
	switch {
	case err != nil && errors.Is(s.ctx.Err(), context.DeadlineExceeded):
		s.native.Reset(breezeway.CodeDeadlinePassed)
		return
	case err != nil && !s.sendOutcome(err, result):
		return
	}
	block, failed := s.ctx.takeBlock()
	if failed == nil {
		failed = s.native.CloseSendWith(block)
	}
	if failed == nil {
		return
	}
	var tooMuch *breezeway.TooMuchMetadataError
	if is := errors.As(failed, &tooMuch); err == nil && !(is && tooMuch.Max == 0) {
		if !s.sendOutcome(failed, nil) {
			return
		}
	}
	if s.native.CloseSend() != nil {
		s.native.Reset(breezeway.CodeFailed)
	}
}

// sendOutcome sends the last message of a stream that has failed. It returns false if it has reset
// the stream instead.
func (s *ServerStream) sendOutcome(err error, result Result) bool {
	outcome, failed := encodeOutcome(s.method, err, result)
	if failed == nil {
		failed = s.native.Send(&s.ctx, outcome)
	}
	if failed != nil {
		s.native.Reset(breezeway.CodeFailed)
	}
	return failed == nil
}

// A ServerStreamingServer sends the replies of a method that streams them.
type ServerStreamingServer[Res any] struct{ *ServerStream }

// NewServerStreamingServer returns a handler's stream for generated code.
func NewServerStreamingServer[Res any](stream *ServerStream) *ServerStreamingServer[Res] {
	return &ServerStreamingServer[Res]{stream}
}

// Send sends a reply, and waits while the client does not read.
func (s *ServerStreamingServer[Res]) Send(ctx context.Context, reply *Res) error {
	return s.send(ctx, structOf(reply))
}

// A ClientStreamingServer receives the requests of a method that streams them.
type ClientStreamingServer[Req any] struct{ *ServerStream }

// NewClientStreamingServer returns a handler's stream for generated code.
func NewClientStreamingServer[Req any](stream *ServerStream) *ClientStreamingServer[Req] {
	return &ClientStreamingServer[Req]{stream}
}

// Recv returns the next request, or io.EOF behind the last one.
func (s *ClientStreamingServer[Req]) Recv(ctx context.Context) (*Req, error) {
	return received[Req](ctx, s.recv)
}

// A BidiStreamingServer receives the requests and sends the replies of a method that streams both.
type BidiStreamingServer[Req, Res any] struct{ *ServerStream }

// NewBidiStreamingServer returns a handler's stream for generated code.
func NewBidiStreamingServer[Req, Res any](stream *ServerStream) *BidiStreamingServer[Req, Res] {
	return &BidiStreamingServer[Req, Res]{stream}
}

// Recv returns the next request, or io.EOF behind the last one.
func (s *BidiStreamingServer[Req, Res]) Recv(ctx context.Context) (*Req, error) {
	return received[Req](ctx, s.recv)
}

// Send sends a reply, and waits while the client does not read.
func (s *BidiStreamingServer[Req, Res]) Send(ctx context.Context, reply *Res) error {
	return s.send(ctx, structOf(reply))
}
