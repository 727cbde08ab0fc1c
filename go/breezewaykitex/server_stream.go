package breezewaykitex

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"time"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/kitex/pkg/consts"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/pkg/streaming"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// nativeStream is a stream of a session, which stands for a connection with one request to the
// limits of Kitex's server.
type nativeStream struct {
	noConn
	server *transServer
	stream *breezeway.Stream
	method method
	peer   peerAddr
}

// RemoteAddr returns the client, as a *peerAddr.
func (c *nativeStream) RemoteAddr() net.Addr { return &c.peer }

// serveStream serves a native stream by Kitex's handlers, within the limits of Kitex's server.
func (s *transServer) serveStream(_ context.Context, stream *breezeway.Stream) {
	called, has := s.methods[stream.Method()]
	if !has {
		stream.Reset(breezeway.CodeNoSuchMethod)
		return
	}
	conn := &nativeStream{server: s, stream: stream, method: called,
		peer: peerAddr{stream.Peer()}}
	switch err := s.readStream(conn); {
	case neverRan(err):
		stream.Reset(breezeway.CodeOverloaded)
	case err != nil:
		stream.Reset(breezeway.CodeFailed)
	default:
		conn.drain()
		stream.Reset(breezeway.CodeCancelled) // A sender may wait for the stream's window.
	}
}

// readStream serves a stream as a connection of Kitex, which no longer counts afterwards, also if a
// middleware or a tracer panics.
func (s *transServer) readStream(conn *nativeStream) error {
	ctx, err := s.handler.OnActive(conn.stream.Context(), conn)
	defer s.handler.OnInactive(ctx, conn)
	if err != nil {
		return err
	}
	return s.handler.OnRead(ctx, conn)
}

// run runs the handler of the stream.
func (c *nativeStream) run(ctx context.Context) {
	served := &serverStream{stream: c.stream, codec: c.server.opts.PayloadCodec,
		method: c.method.name, header: map[string]string{}, values: map[string]string{}}
	ctx, info, err := c.server.openedStream(ctx, c)
	if err == nil {
		err = c.server.runStream(ctx, info, served)
	}
	served.finish(ctx, info, err)
}

// farewell is how long a server takes messages behind the end of a stream's handler, so that a
// client which is about to end is not reset, as in Rust. A reset behind the end loses no messages.
const farewell = time.Second

// drain releases the client's messages until its end.
func (c *nativeStream) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	for ctx.Err() == nil { // Recv returns a message that has arrived in any case.
		message, err := c.stream.Recv(ctx)
		if err != nil {
			return
		}
		message.Release()
	}
}

// openedStream returns the context of a stream's handler.
func (s *transServer) openedStream(ctx context.Context, conn *nativeStream) (context.Context,
	rpcinfo.RPCInfo, error) {
	called, stream := conn.method, conn.stream
	info := s.opts.InitOrResetRPCInfoFunc(nil, conn.RemoteAddr())
	ctx = remote.WithServiceSearcher(ctx, s.opts.SvcSearcher)
	ctx = rpcinfo.NewCtxWithRPCInfo(ctx, info)
	if called.isCall {
		return ctx, info, remote.NewTransErrorWithMsg(remote.InvalidMessageTypeException,
			fmt.Sprintf("%s.%s is called, and was opened as a stream", called.service, called.name))
	}
	service := s.opts.SvcSearcher.SearchService(called.service, called.name, true,
		serviceinfo.Thrift)
	if service == nil {
		return ctx, info, remote.NewTransErrorWithMsg(remote.UnknownService, called.service)
	}
	found := service.MethodInfo(ctx, called.name)
	if invoked, is := info.Invocation().(rpcinfo.InvocationSetter); is {
		invoked.SetServiceName(called.service)
		invoked.SetMethodName(called.name)
		invoked.SetMethodInfo(found)
		invoked.SetStreamingMode(found.StreamingMode())
	}
	_ = rpcinfo.AsMutableEndpointInfo(info.To()).SetMethod(called.name)
	//lint:ignore SA1029 The key is Kitex's.
	ctx = context.WithValue(ctx, consts.CtxKeyMethod, called.name)
	ctx = metainfo.WithBackwardValuesToSend(ctx)
	if block, has := stream.Metadata(); has {
		pairs, err := wire.DecodePairs(block)
		if err != nil {
			return ctx, info, remote.NewTransError(remote.ProtocolError, err)
		}
		ctx = metainfo.SetMetaInfoFromMap(ctx, pairs)
	}
	return metainfo.TransferForward(ctx), info, nil
}

// runStream runs a stream's handler, below Kitex's middlewares.
func (s *transServer) runStream(ctx context.Context, info rpcinfo.RPCInfo, served *serverStream) (
	err error) {
	ctx = s.opts.TracerCtl.DoStart(ctx, info)
	defer func() { s.opts.TracerCtl.DoFinish(ctx, info, err) }()
	err = s.streamer.invoke(ctx, &streaming.Args{ServerStream: served}, nil)
	if business := info.Invocation().BizStatusErr(); err == nil && business != nil {
		return business
	}
	return err
}

// serverStream is a handler's side of a stream.
type serverStream struct {
	stream *breezeway.Stream
	codec  remote.PayloadCodec
	method string
	// header goes before the first message, and values with the stream's end.
	header, values map[string]string
	hasBegun       bool // the first entry was sent
}

// SendMsg sends a message, and waits while the client does not read.
func (s *serverStream) SendMsg(ctx context.Context, message any) error {
	if len(s.header) > 0 && !s.hasBegun {
		if err := s.sendHeader(ctx); err != nil {
			return err
		}
	}
	s.hasBegun = true
	return sendBody(ctx, s.codec, s.stream, message)
}

// RecvMsg receives the client's next message; io.EOF behind its last one.
func (s *serverStream) RecvMsg(ctx context.Context, message any) error {
	next, err := s.stream.Recv(ctx)
	if err != nil {
		return err
	}
	if err := decodeBody(ctx, s.codec, s.method, &next, message); err != nil {
		return remote.NewTransErrorWithMsg(remote.ProtocolError,
			"the arguments cannot be read: "+err.Error())
	}
	return nil
}

// SetHeader gives the client names and values, which arrive before the first message, or with the
// stream's end if a message was sent before.
func (s *serverStream) SetHeader(values streaming.Header) error {
	if s.hasBegun {
		return s.SetTrailer(streaming.Trailer(values))
	}
	maps.Copy(s.header, values)
	return nil
}

var errHeader = errors.New("kitex: the header, or a message, was sent before; use SetTrailer")

// SendHeader sends names and values, with those of SetHeader, before the first message.
func (s *serverStream) SendHeader(values streaming.Header) error {
	if s.hasBegun {
		return errHeader
	}
	maps.Copy(s.header, values)
	return s.sendHeader(s.stream.Context())
}

// sendHeader sends the header in an entry without a message. A client that takes no metadata at all
// gets none of it.
func (s *serverStream) sendHeader(ctx context.Context) error {
	block, err := wire.EncodePairs(s.header)
	if err != nil {
		return err
	}
	err = s.stream.SendEntry(ctx, breezeway.Entry{Metadata: block})
	var tooMuch *breezeway.TooMuchMetadataError
	if errors.As(err, &tooMuch) && tooMuch.Max == 0 {
		err = s.stream.SendEntry(ctx, breezeway.Entry{})
	}
	s.hasBegun = err == nil
	return err
}

// SetTrailer gives the client names and values.
func (s *serverStream) SetTrailer(values streaming.Trailer) error {
	maps.Copy(s.values, values)
	return nil
}

// finish ends the stream with what its handler has returned.
func (s *serverStream) finish(ctx context.Context, info rpcinfo.RPCInfo, err error) {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.stream.Reset(breezeway.CodeDeadlinePassed)
		return
	}
	if err != nil {
		var result any
		if called := info.Invocation().MethodInfo(); called != nil {
			result = called.NewResult()
		}
		outcome, encoding := encodeOutcome(err, result)
		if encoding != nil || s.stream.Send(ctx, outcome) != nil {
			s.stream.Reset(breezeway.CodeFailed)
			return
		}
	}
	if !s.hasBegun {
		maps.Copy(s.values, s.header)
	}
	maps.Copy(s.values, metainfo.AllBackwardValuesToSend(ctx))
	block, failed := wire.EncodePairs(s.values)
	if failed == nil {
		failed = s.stream.CloseSendWith(block)
	}
	if failed == nil {
		return
	}
	var tooMuch *breezeway.TooMuchMetadataError
	if is := errors.As(failed, &tooMuch); err == nil && !(is && tooMuch.Max == 0) {
		outcome, _ := encodeOutcome(failed, nil)
		_ = s.stream.Send(ctx, outcome)
	}
	if s.stream.CloseSend() != nil {
		s.stream.Reset(breezeway.CodeFailed)
	}
}

var _ streaming.ServerStream = (*serverStream)(nil)
