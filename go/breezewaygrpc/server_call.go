package breezewaygrpc

import (
	"context"
	"io"
	"math"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// serveCall serves a native call.
func (s *Server) serveCall(opened context.Context, stream *breezeway.Stream) {
	block, _ := stream.Metadata()
	path, fields, err := decodeRequest(block)
	if err != nil {
		stream.Reset(breezeway.CodeFailed)
		return
	}
	call := &serverStream{reader: reader{stream: stream}, path: path}
	defer call.endReading()
	code := breezeway.CodePanicked
	// It takes back nothing of the response, and ends a client's SendMsg that waits for room, and
	// the context: before endReading, as a goroutine of the handler may still wait for a message.
	defer func() { stream.Reset(code) }()
	ctx, cancel := contextOf(opened, stream, fields)
	defer cancel()
	call.ctx = grpc.NewContextWithServerTransportStream(ctx, (*transportStream)(call))
	err = call.prepare(fields, s.maxRecv)
	if err == nil {
		err = s.run(call)
	}
	call.finish(err)
	code = breezeway.CodeCancelled
}

// contextOf returns the context of a call's handler, without its metadata. It ends with the stream,
// or earlier at its deadline.
func contextOf(opened context.Context, stream *breezeway.Stream, fields []field) (
	context.Context, context.CancelFunc) {
	local := breezeway.Address{Carrier: stream.Carrier()}
	ctx := peer.NewContext(opened, &peer.Peer{Addr: local, LocalAddr: local,
		AuthInfo: authInfo(stream.Peer(), stream.Carrier())})
	if left, has := decodeTimeout(valueOf(fields, timeoutName)); has {
		return context.WithTimeout(ctx, left)
	}
	return ctx, func() {}
}

// prepare reads the headers of a call.
func (c *serverStream) prepare(fields []field, maxRecv int) error {
	md, err := metadataOf(fields)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	c.ctx = metadata.NewIncomingContext(c.ctx, md)
	c.format = format{maxSend: math.MaxInt, maxRecv: maxRecv}
	kind := valueOf(fields, contentType)
	_, c.subtype, _ = strings.Cut(kind, "+")
	if c.codec = codecOf(c.subtype); c.codec == nil {
		return status.Errorf(codes.Unimplemented, "the content type %q has no codec here", kind)
	}
	name := valueOf(fields, encodingName)
	if name == "" || name == encoding.Identity {
		return nil
	}
	if c.decompressor = encoding.GetCompressor(name); c.decompressor == nil {
		return status.Errorf(codes.Unimplemented,
			"grpc: Decompressor is not installed for grpc-encoding %q", name)
	}
	if strings.Contains(valueOf(fields, acceptName), name) {
		c.compressor = c.decompressor
	}
	return nil
}

// run runs the handler of a call.
func (s *Server) run(call *serverStream) error {
	name, method, isPath := cutPath(call.path)
	found := s.services[name]
	switch {
	case !isPath:
		return status.Errorf(codes.Unimplemented, "malformed method name: %q", call.path)
	case found == nil:
		return status.Errorf(codes.Unimplemented, "unknown service %v", name)
	}
	if desc := found.methods[method]; desc != nil {
		return s.runUnary(call, found, desc)
	}
	desc := found.streams[method]
	if desc == nil {
		return status.Errorf(codes.Unimplemented, "unknown method %v for service %v", method, name)
	}
	if s.stream == nil {
		return desc.Handler(found.impl, call)
	}
	info := &grpc.StreamServerInfo{FullMethod: call.path, IsClientStream: desc.ClientStreams,
		IsServerStream: desc.ServerStreams}
	return s.stream(found.impl, call, info, desc.Handler)
}

func (s *Server) runUnary(call *serverStream, found *service, desc *grpc.MethodDesc) error {
	decode := func(message any) error {
		err := call.RecvMsg(message)
		if err == io.EOF {
			err = status.Error(codes.Internal, "cardinality violation: the request has no message")
		}
		return err
	}
	reply, err := desc.Handler(found.impl, call.ctx, decode, s.unary)
	if err != nil {
		return err
	}
	call.reply, err = call.encode(reply)
	return err
}

// statusOf returns the status of a handler's error.
func statusOf(err error) *status.Status {
	if s, is := status.FromError(err); is {
		return s
	}
	return status.FromContextError(err)
}

// cutPath returns the names of the service and of the method.
func cutPath(path string) (service, method string, isPath bool) {
	path = strings.TrimPrefix(path, "/")
	at := strings.LastIndex(path, "/")
	if at < 0 {
		return "", "", false
	}
	return path[:at], path[at+1:], true
}
