package breezewaykitex

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/pkg/streaming"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// clientStreams opens Kitex's streams as streams of a session.
type clientStreams struct {
	sessions *pool
	codec    remote.PayloadCodec
}

// NewStream opens a stream, as remote.ClientStreamFactory asks for it.
func (s clientStreams) NewStream(ctx context.Context, info rpcinfo.RPCInfo) (
	streaming.ClientStream, error) {
	if err := failedBefore(info); err != nil {
		return nil, err
	}
	pairs := map[string]string{}
	metainfo.SaveMetaInfoToMap(ctx, pairs)
	block, err := wire.EncodePairs(pairs)
	if err != nil {
		return nil, err
	}
	invoked := info.Invocation()
	tag := wire.Tag(invoked.ServiceName(), invoked.MethodName())
	session := s.sessions.beginStream(addressOf(info))
	var stream *breezeway.Stream
	if block == nil {
		stream, err = session.Open(ctx, tag)
	} else {
		stream, err = session.OpenWithMetadata(ctx, tag, block)
	}
	if err != nil {
		session.endStream()
		return nil, failureOf(ctx, info, err)
	}
	opened := &clientStream{ctx: ctx, method: invoked, codec: s.codec, stream: stream,
		session: session}
	opened.stop = context.AfterFunc(ctx, opened.giveUp)
	return opened, nil
}

// clientStream is a client's side of a stream.
type clientStream struct {
	ctx    context.Context
	method rpcinfo.Invocation
	codec  remote.PayloadCodec
	stream *breezeway.Stream
	stop   func() bool // of the context's end

	session *session

	// ended is what the stream has ended with.
	ended error
	once  sync.Once // of its end

	mu        sync.Mutex
	callbacks []func(error)
	isOver    bool
	outcome   error
}

// giveUp resets the stream at the end of its context.
func (s *clientStream) giveUp() {
	code := breezeway.CodeCancelled
	if errors.Is(s.ctx.Err(), context.DeadlineExceeded) {
		code = breezeway.CodeDeadlinePassed
	}
	s.stream.Reset(code)
	s.letGo(failure(s.ctx, s.ctx.Err()))
}

// letGo lets go of the session, and calls Kitex back with the outcome, at its first call.
func (s *clientStream) letGo(outcome error) {
	s.mu.Lock()
	wasOver, callbacks := s.isOver, s.callbacks
	if !wasOver {
		s.isOver, s.outcome = true, outcome
	}
	s.mu.Unlock()
	if wasOver {
		return
	}
	s.session.endStream()
	for _, callback := range callbacks {
		callback(outcome)
	}
}

// SendMsg sends a message, and waits while the server does not read. It returns io.EOF once the
// server has ended the stream, whose outcome RecvMsg returns.
func (s *clientStream) SendMsg(ctx context.Context, message any) error {
	err := sendBody(ctx, s.codec, s.stream, message)
	if _, isReset := breezeway.IsReset(err); isReset && s.ctx.Err() == nil {
		return io.EOF
	}
	return s.failed(err)
}

// CloseSend ends the client's direction. RecvMsg returns the outcome of a stream that the server
// has ended.
func (s *clientStream) CloseSend(context.Context) error {
	err := s.stream.CloseSend()
	if _, isReset := breezeway.IsReset(err); isReset && s.ctx.Err() == nil {
		return nil
	}
	return s.failed(err)
}

// RecvMsg receives the server's next message; io.EOF behind the last one.
func (s *clientStream) RecvMsg(ctx context.Context, message any) error {
	if s.ended != nil {
		return s.ended
	}
	next, err := s.stream.Recv(ctx)
	if err == nil {
		err = s.read(ctx, &next, message)
	} else {
		err = s.failed(err)
	}
	if err != nil {
		s.end(err)
	} else if s.method.MethodInfo().StreamingMode() == serviceinfo.StreamingClient {
		s.finish() // It is the result.
	}
	return err
}

func (s *clientStream) read(ctx context.Context, next *breezeway.Message, message any) error {
	var first [1]byte
	if n, _ := next.ReadAt(first[:], 0); n == 1 && isOutcome(first[:]) {
		defer next.Release()
		return decodeOutcome(next.Bytes(), s.method.MethodInfo().NewResult())
	}
	err := decodeBody(ctx, s.codec, s.method.MethodName(), next, message)
	if err != nil {
		return remote.NewTransErrorWithMsg(remote.ProtocolError,
			"a message cannot be read: "+err.Error())
	}
	return nil
}

// failed returns an error of the stream in Kitex's terms.
func (s *clientStream) failed(err error) error {
	code, isReset := breezeway.IsReset(err)
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return err
	case isReset:
		return failure(s.ctx, &breezeway.CallError{Code: code, Reason: err.Error()})
	}
	return failure(s.ctx, err)
}

// finish takes the stream's end, behind the server's only message.
func (s *clientStream) finish() {
	surplus, err := s.stream.Recv(s.ctx)
	if err == nil {
		surplus.Release()
		err = errOutcome
	}
	s.end(err)
}

func (s *clientStream) end(err error) {
	s.ended = err
	s.once.Do(func() {
		s.stop()
		_ = s.stream.Close()
		if errors.Is(err, io.EOF) {
			err = nil
		}
		s.letGo(err)
	})
}

// Header returns the names and values that came with the server's first entry, for which it waits.
func (s *clientStream) Header() (streaming.Header, error) {
	block, _, err := s.stream.AwaitMetadata(s.ctx)
	if err != nil {
		return nil, s.failed(err)
	}
	if block == nil {
		return nil, nil
	}
	pairs, err := wire.DecodePairs(block)
	return wire.WithoutBackward(pairs), err
}

// Trailer returns those that came with the stream's end.
func (s *clientStream) Trailer() (streaming.Trailer, error) {
	block := s.stream.Trailer()
	if block == nil {
		return nil, nil
	}
	pairs, err := wire.DecodePairs(block)
	return wire.WithoutBackward(pairs), err
}

// Context returns the context that the stream was opened with.
func (s *clientStream) Context() context.Context { return s.ctx }

// RegisterCloseCallback has a function called at the stream's end, or now if it has ended.
func (s *clientStream) RegisterCloseCallback(callback func(error)) {
	s.mu.Lock()
	isOver := s.isOver
	if !isOver {
		s.callbacks = append(s.callbacks, callback)
	}
	s.mu.Unlock()
	if isOver {
		callback(s.outcome)
	}
}

var (
	_ remote.ClientStreamFactory      = clientStreams{}
	_ streaming.ClientStream          = (*clientStream)(nil)
	_ streaming.CloseCallbackRegister = (*clientStream)(nil)
)
