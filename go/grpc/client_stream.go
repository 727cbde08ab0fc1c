package grpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// clientStream is a client's side of a native streaming call.
type clientStream struct {
	ctx  context.Context
	desc *grpc.StreamDesc
	o    *outbound
	in   inbound
	stop func() bool // of the context's end

	once  sync.Once // of the end
	mu    sync.Mutex
	ended error // what the call has ended with
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
	s.in.stream, s.in.format = stream, &o.format
	s.stop = context.AfterFunc(ctx, func() { stream.Reset(breezeway.CodeCancelled) })
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

// Context returns the context that the call was begun with.
func (s *clientStream) Context() context.Context { return s.ctx }

// SendMsg sends a message, and waits while the server does not read. It returns io.EOF once the
// call has ended, whose status RecvMsg returns.
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
		return status.Error(codes.Internal, "SendMsg called after CloseSend")
	case status.Code(failure(err)) == codes.ResourceExhausted:
		if _, isReset := breezeway.IsReset(err); !isReset {
			return s.abort(failure(err))
		}
	}
	return io.EOF
}

// abort ends a call whose message cannot be sent.
func (s *clientStream) abort(err error) error {
	s.in.stream.Reset(breezeway.CodeCancelled) // Ends a RecvMsg that waits.
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
		return err
	}
	if !s.desc.ServerStreams {
		err := s.in.receiveOnly(s.ctx, message)
		if err == nil {
			_ = s.end(io.EOF)
			return nil
		}
		return s.end(err)
	}
	if err := s.in.receive(s.ctx, message); err != nil {
		s.in.release()
		return s.end(err)
	}
	return nil
}

func (s *clientStream) outcome() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// end ends the call with the first of its errors, which it returns.
func (s *clientStream) end(err error) error {
	s.once.Do(func() {
		s.stop()
		s.mu.Lock()
		s.ended = err
		s.mu.Unlock()
		s.in.close()
		if err == io.EOF {
			err = nil
		}
		s.o.finish(&s.in, err)
	})
	return s.outcome()
}
