package rpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// clientStream is a client's end of a stream.
type clientStream struct {
	ctx    context.Context
	native *breezeway.Stream
	method Method
	result Result
	stop   func() bool     // of the context's end
	once   sync.Once       // of the end
	report func(err error) // to observers, at the end

	mu       sync.Mutex
	ended    error           // of the server's messages
	isClosed bool            // Close was called
	own      context.Context // nil until Context is called
	cancel   context.CancelFunc
}

// Method returns the method that the stream was opened for.
func (s *clientStream) Method() Method { return s.method }

// Context returns a context with the values of the one that the stream was opened in. It ends with
// that one, with Close, or when Recv returns the stream's end.
func (s *clientStream) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		s.own, s.cancel = context.WithCancel(s.ctx)
		if s.isClosed {
			s.cancel()
		}
	}
	return s.own
}

// endContext ends the stream's own context.
func (s *clientStream) endContext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
	if s.cancel != nil {
		s.cancel()
	}
}

// open opens a stream, which the end of ctx resets.
func (c *Client) open(ctx context.Context, m Method, result Result) (*clientStream, error) {
	observed, report := c.observers.begin(ctx, m)
	var native *breezeway.Stream
	err := withRequestMetadata(ctx, observed, func(block []byte) (err error) {
		if block == nil {
			native, err = c.sessions.Open(observed, m.tag)
		} else {
			native, err = c.sessions.OpenWithMetadata(observed, m.tag, block)
		}
		return err
	})
	if err != nil {
		err = failureOf(err)
		report(err)
		return nil, err
	}
	s := &clientStream{ctx: observed, native: native, method: m, result: result, report: report}
	s.stop = context.AfterFunc(ctx, s.giveUp)
	return s, nil
}

// giveUp resets the stream, with the code of a deadline if one has ended its context.
func (s *clientStream) giveUp() {
	code, err := breezeway.CodeCancelled, s.ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		code = breezeway.CodeDeadlinePassed
	}
	if err == nil {
		err = errClosedEarly
	}
	s.report(err)
	s.native.Reset(code)
}

// Close ends the stream. The server's handler is cancelled unless Recv has returned the end.
func (s *clientStream) Close() error {
	s.once.Do(func() {
		s.stop()
		if s.end() == nil {
			s.giveUp()
		}
		_ = s.native.Close() // It reports what Recv has returned.
		s.endContext()
	})
	return nil
}

// end returns the error that the server's messages have ended with; nil if they have not.
func (s *clientStream) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Header returns the metadata that arrives before the server's first message, and waits for it.
func (s *clientStream) Header(ctx context.Context) (map[string]string, error) {
	block, _, err := s.native.AwaitMetadata(ctx)
	if err != nil || block == nil {
		return nil, s.failure(err)
	}
	return decodeReply(block)
}

// Trailer returns the metadata that has arrived with the stream's end.
func (s *clientStream) Trailer() (map[string]string, error) {
	block := s.native.Trailer()
	if block == nil {
		return nil, nil
	}
	return decodeReply(block)
}

func decodeReply(block []byte) (map[string]string, error) {
	pairs, err := wire.DecodePairs(block)
	if err != nil {
		return nil, &Exception{Kind: KindProtocolError, Message: err.Error()}
	}
	return wire.WithoutBackward(pairs), nil
}

// send sends a message. It returns io.EOF once the server has ended the stream, whose outcome Recv
// returns.
func (s *clientStream) send(ctx context.Context, message thrift.Struct) error {
	err := sendStruct(ctx, s.native, message)
	if _, isReset := breezeway.IsReset(err); isReset && s.ctx.Err() == nil {
		return io.EOF
	}
	return s.failure(err)
}

func (s *clientStream) closeSend(ctx context.Context) error {
	err := s.native.SendEntry(ctx, breezeway.Entry{Last: true})
	if _, isReset := breezeway.IsReset(err); isReset && s.ctx.Err() == nil {
		return nil // Recv returns the outcome.
	}
	return s.failure(err)
}

// recv receives the server's next message; io.EOF behind the last one.
func (s *clientStream) recv(ctx context.Context, message thrift.Struct) error {
	if err := s.end(); err != nil {
		return err
	}
	next, err := s.native.Recv(ctx)
	if err == nil {
		err = s.read(&next, message)
	} else if ctx.Err() != nil && s.ctx.Err() == nil {
		return err // The stream goes on.
	}
	if err != nil {
		err = s.failure(err)
		s.mu.Lock()
		s.ended = err
		s.mu.Unlock()
		s.reportEnd(err)
		if s.ctx.Err() != nil {
			s.giveUp()
		}
		_ = s.Close()
	}
	return err
}

func (s *clientStream) read(next *breezeway.Message, message thrift.Struct) error {
	defer next.Release()
	bytes := next.Bytes()
	if len(bytes) > 0 && bytes[0] == wire.OutcomeMark {
		return decodeOutcome(bytes, s.result)
	}
	return readMessage(bytes, message)
}

// reportEnd reports the end of the server's messages to observers.
func (s *clientStream) reportEnd(err error) {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.report(outcome(err, s.result))
}

// failure returns the error of the stream for its user.
func (s *clientStream) failure(err error) error {
	code, isReset := breezeway.IsReset(err)
	switch {
	case isReset && s.ctx.Err() != nil:
		return s.ctx.Err()
	case isReset:
		return failureOf(&breezeway.CallError{Code: code, Reason: err.Error()})
	}
	return err
}

// sendStruct sends a struct as a message of a stream.
func sendStruct(ctx context.Context, stream *breezeway.Stream, message thrift.Struct) error {
	n := message.BLength()
	if n > inPlace {
		return stream.SendFilled(ctx, n, fill(message))
	}
	space := scratch.Get().(*[inPlace]byte)
	defer scratch.Put(space)
	return stream.Send(ctx, space[:message.FastWrite(space[:n])])
}

// readMessage reads a struct, which is all of a message of a stream.
func readMessage(bytes []byte, message thrift.Struct) error {
	if err := thrift.Unmarshal(bytes, message); err != nil {
		return &Exception{Kind: KindProtocolError,
			Message: "a message of the stream cannot be read: " + err.Error()}
	}
	return nil
}

// structOf returns a pointer to a generated struct as such.
func structOf[T any](value *T) thrift.Struct { return any(value).(thrift.Struct) }

// received returns the next message of a stream.
func received[T any](ctx context.Context, recv func(context.Context, thrift.Struct) error) (*T,
	error) {
	message := new(T)
	if err := recv(ctx, structOf(message)); err != nil {
		return nil, err
	}
	return message, nil
}

// A ServerStreamingClient receives the messages of a method that streams replies. Its user calls
// Recv until it returns an error, or Close, or ends the context of the call.
type ServerStreamingClient[Res any] struct{ *clientStream }

// NewServerStreamingClient opens a stream for a generated client, and sends the request.
func NewServerStreamingClient[Res any](ctx context.Context, client *Client, m Method,
	result Result, request thrift.Struct) (*ServerStreamingClient[Res], error) {
	s, err := client.open(ctx, m, result)
	if err != nil {
		return nil, err
	}
	if err = s.send(ctx, request); err == nil {
		err = s.closeSend(ctx)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.report(err)
		_ = s.Close()
		return nil, err
	}
	return &ServerStreamingClient[Res]{s}, nil
}

// Recv returns the next reply, or io.EOF behind the last one. It returns the exception that the
// method throws, or another error, when the stream has failed.
func (s *ServerStreamingClient[Res]) Recv(ctx context.Context) (*Res, error) {
	return received[Res](ctx, s.recv)
}

// A ClientStreamingClient sends the messages of a method that streams requests. Its user calls
// CloseAndRecv at the end, or Close, or ends the context of the call.
type ClientStreamingClient[Req, Res any] struct{ *clientStream }

// NewClientStreamingClient opens a stream for a generated client.
func NewClientStreamingClient[Req, Res any](ctx context.Context, client *Client, m Method,
	result Result) (*ClientStreamingClient[Req, Res], error) {
	s, err := client.open(ctx, m, result)
	if err != nil {
		return nil, err
	}
	return &ClientStreamingClient[Req, Res]{s}, nil
}

// Send sends a request, and waits while the server does not read. It returns io.EOF once the server
// has ended the stream; CloseAndRecv returns the reason.
func (s *ClientStreamingClient[Req, Res]) Send(ctx context.Context, request *Req) error {
	return s.send(ctx, structOf(request))
}

// CloseAndRecv ends the requests, and returns the reply.
func (s *ClientStreamingClient[Req, Res]) CloseAndRecv(ctx context.Context) (*Res, error) {
	if err := s.closeSend(ctx); err != nil {
		return nil, err
	}
	reply, err := received[Res](ctx, s.recv)
	if errors.Is(err, io.EOF) {
		return nil, ErrMissingResult
	}
	if err != nil {
		return nil, err
	}
	switch err := s.recv(ctx, new(nothing)); {
	case errors.Is(err, io.EOF):
		return reply, nil
	case err != nil:
		return nil, err
	}
	s.report(errOutcome) // A second message.
	_ = s.Close()
	return nil, errOutcome
}

// nothing is a struct that keeps no field.
type nothing struct{}

func (*nothing) BLength() int                  { return 1 }
func (*nothing) FastWrite(buf []byte) int      { return copy(buf, "\x00") }
func (*nothing) InitDefault()                  {}
func (n *nothing) ReadFields(r *thrift.Reader) { r.Skip(0x0c0000) }
func (n *nothing) FastRead(buf []byte) (int, error) {
	r := thrift.NewReader(buf)
	n.ReadFields(&r)
	return r.End()
}

// A BidiStreamingClient sends and receives the messages of a method that streams both. Its user
// calls Recv until it returns an error, or Close, or ends the context of the call.
type BidiStreamingClient[Req, Res any] struct{ *clientStream }

// NewBidiStreamingClient opens a stream for a generated client.
func NewBidiStreamingClient[Req, Res any](ctx context.Context, client *Client, m Method,
	result Result) (*BidiStreamingClient[Req, Res], error) {
	s, err := client.open(ctx, m, result)
	if err != nil {
		return nil, err
	}
	return &BidiStreamingClient[Req, Res]{s}, nil
}

// Send sends a request like [ClientStreamingClient.Send].
func (s *BidiStreamingClient[Req, Res]) Send(ctx context.Context, request *Req) error {
	return s.send(ctx, structOf(request))
}

// Recv returns the next reply like [ServerStreamingClient.Recv].
func (s *BidiStreamingClient[Req, Res]) Recv(ctx context.Context) (*Res, error) {
	return received[Res](ctx, s.recv)
}

// CloseSend ends the requests.
func (s *BidiStreamingClient[Req, Res]) CloseSend() error { return s.closeSend(s.ctx) }
