package breezewaygrpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// clientStream is a client's side of a native streaming call.
type clientStream struct {
	ctx    context.Context // of the caller
	during context.Context // ends with the call
	cancel context.CancelFunc
	desc   *grpc.StreamDesc
	o      *outbound

	reading sync.Mutex // held by a reader of messages
	in      inbound

	once  sync.Once // of the end
	mu    sync.Mutex
	stop  func() bool // the wait for the end of ctx
	ended error       // what the call has ended with
}

// newStream begins a streaming call.
func (c *Client) newStream(ctx context.Context, desc *grpc.StreamDesc, method string,
	opts []grpc.CallOption) (grpc.ClientStream, error) {
	o, err := newOutbound(method, opts)
	if err != nil {
		return nil, err
	}
	stream, _, err := c.open(ctx, o, nil, false)
	if err != nil {
		if err != errHTTP2 {
			o.finish(new(inbound), err)
		}
		return nil, err
	}
	s := &clientStream{ctx: ctx, desc: desc, o: o}
	s.during, s.cancel = context.WithCancel(ctx)
	s.in.stream, s.in.format = stream, &o.format
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = context.AfterFunc(ctx, func() { _ = s.abort(failure(ctx.Err())) })
	return s, nil
}

// Header waits for the headers. Without an error and headers, RecvMsg returns the status.
func (s *clientStream) Header() (metadata.MD, error) {
	_ = s.in.head(s.ctx)
	headers, _ := s.in.metadata()
	return headers, nil
}

// Trailer returns the trailers, once RecvMsg has returned an error.
func (s *clientStream) Trailer() metadata.MD {
	_, trailers := s.in.metadata()
	return trailers
}

// Context returns a context of the caller's, which ends with the call.
func (s *clientStream) Context() context.Context { return s.during }

// SendMsg sends a message, and waits while the server does not read. It returns io.EOF once the
// call has ended, whose status RecvMsg returns, and nil if the message is the only one: generated
// code calls RecvMsg behind nil alone.
func (s *clientStream) SendMsg(message any) error {
	e, err := s.o.encode(message)
	if err != nil {
		return s.abort(err)
	}
	defer e.free()
	_, err = send(s.ctx, s.in.stream, e.pieces, nil, nil, !s.desc.ClientStreams)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrClosedPipe):
		return s.abort(status.Error(codes.Internal, "SendMsg called after CloseSend"))
	case status.Code(failure(err)) == codes.ResourceExhausted:
		if _, isReset := breezeway.IsReset(err); !isReset {
			return s.abort(failure(err))
		}
	}
	if !s.desc.ClientStreams {
		return nil
	}
	return io.EOF
}

// abort ends a call whose message cannot be sent, or whose caller's context has ended.
func (s *clientStream) abort(err error) error {
	s.decide(err)
	s.in.stream.Reset(breezeway.CodeCancelled) // Ends a RecvMsg that waits.
	s.reading.Lock()
	s.in.release()
	s.reading.Unlock()
	_ = s.end(err)
	return err
}

// CloseSend ends the request. RecvMsg returns the outcome of a call that has ended.
func (s *clientStream) CloseSend() error {
	_ = s.in.stream.SendEntry(s.ctx, breezeway.Entry{Last: true})
	return nil
}

// RecvMsg receives the next message; io.EOF behind the last one of a call without an error.
func (s *clientStream) RecvMsg(message any) error {
	if err := s.outcome(); err != nil {
		return s.end(err) // Behind the end: it hands the metadata out.
	}
	err := s.receive(message)
	switch {
	case err != nil:
		return s.end(err)
	case !s.desc.ServerStreams:
		_ = s.end(io.EOF)
	}
	return nil
}

// receive receives a message, of a response without a stream with its end.
func (s *clientStream) receive(message any) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	receive := s.in.receive
	if !s.desc.ServerStreams {
		receive = s.in.receiveOnly
	}
	err := receive(s.ctx, message)
	if err != nil {
		s.in.release()
	}
	return err
}

func (s *clientStream) outcome() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// decide sets what the call ends with, unless it is set, and returns it.
func (s *clientStream) decide(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = err
	}
	return s.ended
}

// end ends the call with the first of its errors, which it returns.
func (s *clientStream) end(err error) error {
	err = s.decide(err)
	s.once.Do(func() {
		s.stop()
		s.in.close()
		outcome := err
		if outcome == io.EOF {
			outcome = nil
		}
		s.o.finish(&s.in, outcome)
		s.cancel()
	})
	return err
}
