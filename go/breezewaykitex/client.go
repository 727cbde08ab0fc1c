package breezewaykitex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/discovery"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/remote/transmeta"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/rpctimeout"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/pkg/stats"
	"github.com/cloudwego/kitex/pkg/utils"
	"github.com/cloudwego/kitex/transport"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// clientSuite makes the options of Client and ClientOf for each Kitex client that uses it.
type clientSuite struct {
	resolver func(keep func(addresses []string)) discovery.Resolver
	balances bool // true for a resolver of several instances
	opts     []breezeway.DialOption
}

// suiteOf returns the options for the one instance with these addresses.
func suiteOf(addresses string, opts []breezeway.DialOption) clientSuite {
	one := []discovery.Instance{
		discovery.NewInstance(network, addresses, discovery.DefaultWeight, nil)}
	resolver := &discovery.SynthesizedResolver{
		ResolveFunc: func(context.Context, string) (discovery.Result, error) {
			return discovery.Result{Cacheable: true, CacheKey: addresses, Instances: one}, nil
		},
		NameFunc:   func() string { return addresses },
		TargetFunc: func(context.Context, rpcinfo.EndpointInfo) string { return addresses },
	}
	return clientSuite{opts: opts,
		resolver: func(func([]string)) discovery.Resolver { return resolver }}
}

// Options returns Kitex's options, as client.Suite asks for them.
func (s clientSuite) Options() []client.Option {
	sessions := newPool(s.opts)
	return []client.Option{
		client.WithResolver(s.resolver(sessions.keep)),
		client.WithConnPool(sessions),
		client.WithTransHandlerFactory(clientFactory{sessions}),
		{F: func(o *client.Options, _ *utils.Slice) {
			// Options of the program may stand behind this one.
			o.TailOptions = append(o.TailOptions, client.Option{F: setProtocol})
			if s.balances {
				prefer := func(o *client.Options, _ *utils.Slice) {
					preferThisHost(o, sessions.keep)
				}
				o.TailOptions = append(o.TailOptions, client.Option{F: prefer})
			}
		}},
	}
}

// setProtocol has Kitex ask for its streams by a factory, which clientFactory replaces, and make no
// calls and streams of gRPC.
func setProtocol(o *client.Options, _ *utils.Slice) {
	const grpc = transport.GRPC | transport.GRPCStreaming
	config := rpcinfo.AsMutableRPCConfig(o.Configs)
	wanted := o.Configs.TransportProtocol()&^grpc | transport.TTHeaderStreaming
	_ = config.SetTransportProtocol(transport.PurePayload) // Others are added to what is set.
	_ = config.SetTransportProtocol(wanted)
}

type clientFactory struct{ sessions *pool }

// NewTransHandler returns a handler of native calls, and has streams be native ones.
func (f clientFactory) NewTransHandler(opts *remote.ClientOption) (
	remote.ClientTransHandler, error) {
	if codec := opts.SvcInfo.PayloadCodec; codec != serviceinfo.Thrift {
		return nil, fmt.Errorf("kitex: %s is a service of %v, and Breezeway carries Thrift",
			opts.SvcInfo.ServiceName, codec)
	}
	if opts.SvcInfo.GenericMethod != nil {
		return nil, genericError(opts.SvcInfo.ServiceName)
	}
	opts.TTHeaderStreamingCliHandlerFactory = clientStreams{f.sessions, opts.PayloadCodec}
	return &clientHandler{opts}, nil
}

// clientHandler makes Kitex's calls as native ones.
type clientHandler struct{ opts *remote.ClientOption }

// Write encodes a call, and sends it if it is oneway.
func (h *clientHandler) Write(ctx context.Context, conn net.Conn, message remote.Message) (
	_ context.Context, err error) {
	call, info := conn.(*clientCall), message.RPCInfo()
	rpcinfo.Record(ctx, info, stats.WriteStart, nil)
	defer func() { rpcinfo.Record(ctx, info, stats.WriteFinish, err) }()
	invoked := info.Invocation()
	if err := failedBefore(info); err != nil {
		return ctx, err
	}
	call.tag = wire.Tag(invoked.ServiceName(), invoked.MethodName())
	if call.body, err = encodeBody(ctx, h.opts.PayloadCodec, message.Data()); err != nil {
		return ctx, err
	}
	if message.MessageType() == remote.Oneway {
		err = call.session.Post(ctx, call.tag, call.body.encoded())
		return ctx, failureOf(ctx, info, err)
	}
	texts := message.TransInfo().TransStrInfo()
	delete(texts, transmeta.HeaderIDLServiceName) // The tag names the service.
	call.metadata, err = wire.EncodePairs(texts)
	return ctx, err
}

// Read makes the call, and decodes its reply.
func (h *clientHandler) Read(ctx context.Context, conn net.Conn, message remote.Message) (
	_ context.Context, err error) {
	call, info := conn.(*clientCall), message.RPCInfo()
	rpcinfo.Record(ctx, info, stats.ReadStart, nil)
	defer func() { rpcinfo.Record(ctx, info, stats.ReadFinish, err) }()
	reply, err := call.make(ctx)
	if isBusiness(err, info) {
		return ctx, nil
	}
	if err != nil {
		return ctx, failureOf(ctx, info, err)
	}
	if block, has := reply.Metadata(); has {
		pairs, err := wire.DecodePairs(block)
		if err != nil {
			reply.Release()
			return ctx, remote.NewTransErrorWithMsg(remote.ProtocolError, err.Error())
		}
		message.TransInfo().PutTransStrInfo(wire.WithoutBackward(pairs))
	}
	method := info.Invocation().MethodName()
	err = decodeBody(ctx, h.opts.PayloadCodec, method, &reply, message.Data())
	if err != nil {
		err = remote.NewTransErrorWithMsg(remote.ProtocolError,
			"the reply cannot be read: "+err.Error())
	}
	return ctx, err
}

func (c *clientCall) make(ctx context.Context) (breezeway.Message, error) {
	switch {
	case c.body.isInPlace():
		reply, err := c.session.CallFilled(ctx, c.tag, c.metadata, c.body.n, c.body.write)
		return reply, cmp.Or(c.body.failed, err)
	case c.metadata == nil:
		return c.session.Call(ctx, c.tag, c.body.bytes)
	}
	return c.session.CallWithMetadata(ctx, c.tag, c.metadata, c.body.bytes)
}

// isBusiness notes a business error, which does not count as a failure of its call to Kitex.
func isBusiness(err error, info rpcinfo.RPCInfo) bool {
	var failed *breezeway.CallError
	if !errors.As(err, &failed) || failed.Code != wire.BusinessCode {
		return false
	}
	setter, is := info.Invocation().(rpcinfo.InvocationSetter)
	if is {
		setter.SetBizStatusErr(businessError(failed.Reason))
	}
	return is
}

// notConnected is the name under which a call keeps its failed attempt to reach a server, of the
// type failedAttempt. Kitex makes up to six attempts, and later ones at the same instance fail at
// once.
const notConnected = "breezeway: not connected"

type failedAttempt struct {
	address string
	err     error
}

// failedBefore returns the error of an attempt of this call to reach the same instance, or nil.
func failedBefore(info rpcinfo.RPCInfo) error {
	failed, is := info.Invocation().Extra(notConnected).(failedAttempt)
	if is && failed.address == addressOf(info) {
		return failed.err
	}
	return nil
}

// addressOf returns the addresses of the instance that a call was given.
func addressOf(info rpcinfo.RPCInfo) string { return info.To().Address().String() }

// failureOf is failure, and notes that a call has reached no server.
func failureOf(ctx context.Context, info rpcinfo.RPCInfo, err error) error {
	failed := failure(ctx, err)
	if errors.Is(failed, kerrors.ErrGetConnection) && !errors.As(err, new(*breezeway.CallError)) {
		if setter, is := info.Invocation().(rpcinfo.InvocationSetter); is {
			setter.SetExtra(notConnected, failedAttempt{addressOf(info), failed})
		}
	}
	return failed
}

// failure returns the error of a failed call in Kitex's terms. The error of the session is its
// cause.
func failure(ctx context.Context, err error) error {
	var failed *breezeway.CallError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled) && ctx.Err() != nil &&
		rpctimeout.LoadGlobalNeedFineGrainedErrCode():
		return kerrors.ErrCanceledByBusiness.WithCause(err)
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return kerrors.ErrRPCTimeout.WithCause(err)
	case !errors.As(err, &failed):
		if errors.As(err, new(*breezeway.TooLargeError)) ||
			errors.As(err, new(*breezeway.TooMuchMetadataError)) {
			return err // Another try would fail alike.
		}
		if !breezeway.MayHaveRun(err) {
			return kerrors.ErrGetConnection.WithCause(err)
		}
		return err
	}
	switch failed.Code {
	case breezeway.CodeDeadlinePassed:
		return kerrors.ErrRPCTimeout.WithCause(err)
	case breezeway.CodeOverloaded:
		return kerrors.ErrOverlimit.WithCause(err)
	case breezeway.CodeRefused:
		return kerrors.ErrGetConnection.WithCause(err)
	}
	if kind, is := wire.KindOf(failed.Code); is {
		return remote.NewTransErrorWithMsg(kind, failed.Reason)
	}
	return err
}

// OnMessage, OnInactive, OnError and SetPipeline have nothing to do for native calls.
func (*clientHandler) OnMessage(ctx context.Context, _, _ remote.Message) (context.Context, error) {
	return ctx, nil
}
func (*clientHandler) OnInactive(context.Context, net.Conn)     {}
func (*clientHandler) OnError(context.Context, error, net.Conn) {}
func (*clientHandler) SetPipeline(*remote.TransPipeline)        {}

var (
	_ client.Suite              = clientSuite{}
	_ remote.ClientTransHandler = (*clientHandler)(nil)
)
