package breezewaykitex

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/remote/codec"
	"github.com/cloudwego/kitex/pkg/remote/trans"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/serviceinfo"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// method is a method that a tag means.
type method struct {
	service, name    string
	isOneway, isCall bool
}

// methodsOf returns the methods of services by their tags.
func methodsOf(services map[string]*serviceinfo.ServiceInfo) (map[uint32]method, error) {
	methods := map[uint32]method{}
	for _, service := range services {
		if service.PayloadCodec != serviceinfo.Thrift {
			return nil, fmt.Errorf("kitex: %s is a service of %v, and Breezeway carries Thrift",
				service.ServiceName, service.PayloadCodec)
		}
		if service.GenericMethod != nil {
			return nil, genericError(service.ServiceName)
		}
		for name, info := range service.Methods {
			mode := info.StreamingMode()
			m := method{service.ServiceName, name, info.OneWay(),
				mode == serviceinfo.StreamingNone || mode == serviceinfo.StreamingUnary}
			tag := wire.Tag(m.service, m.name)
			if other, has := methods[tag]; has {
				return nil, fmt.Errorf("kitex: %s.%s and %s.%s have the same number %#08x; rename "+
					"one, or serve them at two addresses", other.service, other.name, m.service,
					m.name, tag)
			}
			methods[tag] = m
		}
	}
	return methods, nil
}

func genericError(service string) error {
	return fmt.Errorf("kitex: %s is a generic service, and Breezeway carries generated code",
		service)
}

// nativeCall is a call of a session, which stands for a connection to Kitex.
type nativeCall struct {
	noConn
	ctx     context.Context // of the call
	call    *breezeway.Call
	method  method
	peer    peerAddr
	replied bool
}

// RemoteAddr returns the client, as a *peerAddr.
func (c *nativeCall) RemoteAddr() net.Addr { return &c.peer }

// handle serves a native call by Kitex's handlers.
func (s *transServer) handle(ctx context.Context, call *breezeway.Call) error {
	called, has := s.methods[call.Method()]
	if !has {
		return wire.NoSuchMethod(s.services)
	}
	if !called.isCall {
		return &breezeway.CallError{Code: wire.CodeOf(remote.InvalidMessageTypeException),
			Reason: fmt.Sprintf("%s.%s is a stream, and was called", called.service, called.name)}
	}
	conn := &nativeCall{ctx: ctx, call: call, method: called, peer: peerAddr{call.Peer()}}
	err := s.read(conn)
	switch {
	case conn.replied:
		return nil
	case neverRan(err):
		return &breezeway.CallError{Code: breezeway.CodeOverloaded, Reason: err.Error()}
	case err == nil && called.isOneway:
		return call.Reply(nil)
	}
	return err
}

// read serves a call as a connection of Kitex, which no longer counts afterwards.
func (s *transServer) read(conn *nativeCall) error {
	ctx, err := s.handler.OnActive(conn.ctx, conn)
	defer s.handler.OnInactive(ctx, conn)
	if err == nil {
		err = s.handler.OnRead(ctx, conn)
	}
	if err != nil {
		s.handler.OnError(ctx, err, conn)
	}
	return err
}

// nativeExtension gives Kitex's handlers of connections native calls.
type nativeExtension struct{}

func (nativeExtension) SetReadTimeout(context.Context, net.Conn, rpcinfo.RPCConfig,
	remote.RPCRole) {
}

func (nativeExtension) NewWriteByteBuffer(_ context.Context, conn net.Conn,
	_ remote.Message) remote.ByteBuffer {
	return nativeBuffer{call: conn.(*nativeCall)}
}

func (nativeExtension) NewReadByteBuffer(_ context.Context, conn net.Conn,
	_ remote.Message) remote.ByteBuffer {
	return nativeBuffer{call: conn.(*nativeCall)}
}

func (nativeExtension) ReleaseBuffer(remote.ByteBuffer, error) error { return nil }
func (nativeExtension) IsTimeoutErr(error) bool                      { return false }
func (nativeExtension) IsRemoteClosedErr(error) bool                 { return false }

var _ trans.Extension = nativeExtension{}

// nativeBuffer hands a native call to nativeCodec. Nothing is read from or written to it.
type nativeBuffer struct {
	remote.ByteBuffer
	call *nativeCall
}

// Flush does nothing: Encode has replied.
func (nativeBuffer) Flush() error { return nil }

// nativeCodec reads requests from native calls, and replies to them.
type nativeCodec struct{ payload remote.PayloadCodec }

// Name returns the name of the codec.
func (nativeCodec) Name() string { return network }

// Decode reads a request.
func (c nativeCodec) Decode(ctx context.Context, message remote.Message,
	in remote.ByteBuffer) error {
	native := in.(nativeBuffer).call
	call, info := native.call, message.RPCInfo()
	if call.IsOneWay() {
		message.SetMessageType(remote.Oneway)
	}
	if deadline, has := call.Deadline(); has {
		if config := rpcinfo.AsMutableRPCConfig(info.Config()); config != nil {
			_ = config.SetRPCTimeout(max(time.Until(deadline), time.Nanosecond))
		}
	}
	if invoked, is := info.Invocation().(rpcinfo.InvocationSetter); is {
		invoked.SetServiceName(native.method.service)
	}
	if err := codec.SetOrCheckMethodName(ctx, native.method.name, message); err != nil {
		return err
	}
	if block, has := call.Request().Metadata(); has {
		pairs, err := wire.DecodePairs(block)
		if err != nil {
			return remote.NewTransError(remote.ProtocolError, err)
		}
		message.TransInfo().PutTransStrInfo(pairs)
	}
	if err := codec.NewDataIfNeeded(native.method.name, message); err != nil {
		return err
	}
	err := decodeBody(ctx, c.payload, native.method.name, call.Request(), message.Data())
	if err != nil {
		return remote.NewTransErrorWithMsg(remote.ProtocolError,
			"the arguments cannot be read: "+err.Error())
	}
	return nil
}

// Encode replies.
func (c nativeCodec) Encode(ctx context.Context, message remote.Message,
	out remote.ByteBuffer) error {
	native := out.(nativeBuffer).call
	native.replied = true
	if message.MessageType() == remote.Exception {
		return native.fail(message.Data())
	}
	if business := message.RPCInfo().Invocation().BizStatusErr(); business != nil {
		return native.call.Fail(wire.BusinessCode, reasonOf(business))
	}
	block, err := wire.EncodePairs(message.TransInfo().TransStrInfo())
	if err != nil {
		return errors.Join(err, native.call.Fail(breezeway.CodeFailed, err.Error()))
	}
	body, err := encodeBody(ctx, c.payload, message.Data())
	if err != nil {
		return errors.Join(err, native.call.Fail(breezeway.CodeFailed, err.Error()))
	}
	defer body.free()
	return native.reply(block, &body)
}

// reply sends a reply. A client that takes no metadata at all gets it without.
func (c *nativeCall) reply(block []byte, body *body) error {
	err := c.replyWith(block, body)
	var tooMuch *breezeway.TooMuchMetadataError
	switch is := errors.As(err, &tooMuch); {
	case is && tooMuch.Max == 0:
		return c.replyWith(nil, body)
	case is || body.failed != nil:
		return errors.Join(err, c.call.Fail(breezeway.CodeFailed, err.Error()))
	}
	return err
}

func (c *nativeCall) replyWith(block []byte, body *body) error {
	switch {
	case body.isInPlace():
		return c.call.ReplyFilled(block, body.n, body.write)
	case block == nil:
		return c.call.Reply(body.bytes)
	}
	return c.call.ReplyWithMetadata(block, body.bytes)
}

// fail fails the call with what Kitex would send as an exception.
func (c *nativeCall) fail(why any) error {
	err, is := why.(error)
	if !is {
		err = fmt.Errorf("%v", why)
	}
	code := breezeway.CodeFailed
	var exception *remote.TransError
	if errors.As(err, &exception) {
		code = wire.CodeOf(exception.TypeID())
	}
	switch {
	case errors.Is(c.ctx.Err(), context.DeadlineExceeded):
		code = breezeway.CodeDeadlinePassed
	case neverRan(err):
		code = breezeway.CodeOverloaded
	case errors.Is(err, kerrors.ErrPanic) && !errors.Is(err, kerrors.ErrBiz):
		code = breezeway.CodePanicked
	}
	return c.call.Fail(code, err.Error())
}

// neverRan returns true for the error of a call that a limit of this server has refused. A handler
// may return one of a service that it has called itself.
func neverRan(err error) bool {
	return errors.Is(err, kerrors.ErrOverlimit) && !errors.Is(err, kerrors.ErrBiz)
}
