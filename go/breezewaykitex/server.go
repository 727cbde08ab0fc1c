package breezewaykitex

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/cloudwego/kitex/pkg/diagnosis"
	"github.com/cloudwego/kitex/pkg/endpoint"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/remote/trans"
	"github.com/cloudwego/kitex/pkg/remote/trans/gonet"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/pkg/utils"
	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// mostHandlers is how many handlers run at the same time, unless the option WithOffload sets
// another limit: the most that it takes. Kitex has limits of its own.
const mostHandlers = 65536

// serverOption makes the option of Server.
func serverOption(addresses string, opts []breezeway.ServerOption) server.Option {
	return server.Option{F: func(o *server.Options, di *utils.Slice) {
		factory := &serverFactory{addresses: addresses, opts: opts}
		server.WithTransServerFactory(factory).F(o, di)
		server.WithTransHandlerFactory(factory).F(o, di)
		// Builders of middlewares run before Kitex names its services to the service of diagnosis.
		o.MWBs = append(o.MWBs, func(context.Context) endpoint.Middleware {
			o.DebugService = servicesProbe{o.DebugService, factory}
			return nil
		})
	}}
}

// serverFactory makes the parts of one server.
type serverFactory struct {
	addresses string
	opts      []breezeway.ServerOption
	services  diagnosis.ProbeFunc
	streamer  *streamer
	longest   int // request of a plain client, in bytes
}

// servicesProbe learns, as a service of diagnosis, which services a server has.
type servicesProbe struct {
	next    diagnosis.Service
	factory *serverFactory
}

// RegisterProbeFunc passes on what is registered.
func (p servicesProbe) RegisterProbeFunc(name diagnosis.ProbeName, probe diagnosis.ProbeFunc) {
	if name == diagnosis.ServiceInfosKey {
		p.factory.services = probe
	}
	diagnosis.RegisterProbeFunc(p.next, name, probe)
}

// NewTransHandler returns handlers of native calls and of plain clients.
func (f *serverFactory) NewTransHandler(opts *remote.ServerOption) (remote.ServerTransHandler,
	error) {
	plainly := *opts
	plainly.Codec = validated(opts.Codec, f)
	plain, err := trans.NewDefaultSvrTransHandler(&plainly, gonet.NewGonetExtension())
	if err != nil {
		return nil, err
	}
	natively := *opts
	natively.Codec = nativeCodec{opts.PayloadCodec}
	native, err := trans.NewDefaultSvrTransHandler(&natively, nativeExtension{})
	f.streamer = new(streamer)
	return handlers{native, plain, f.streamer}, err
}

// streamer calls the handlers of streams.
type streamer struct{ invoke endpoint.Endpoint }

// NewTransServer returns a server of the addresses.
func (f *serverFactory) NewTransServer(opts *remote.ServerOption,
	handler remote.ServerTransHandler) remote.TransServer {
	return &transServer{factory: f, opts: opts, handler: handler, streamer: f.streamer}
}

// transServer serves the sessions and plain clients of a listener.
type transServer struct {
	factory  *serverFactory
	opts     *remote.ServerOption
	handler  remote.ServerTransHandler
	streamer *streamer
	methods  map[uint32]method
	services []string // their names
	plain    plainConns
}

// CreateListener listens at the addresses of the option.
func (s *transServer) CreateListener(net.Addr) (net.Listener, error) {
	var services map[string]*serviceinfo.ServiceInfo
	if s.factory.services != nil {
		services, _ = s.factory.services().(map[string]*serviceinfo.ServiceInfo)
	}
	if services == nil {
		return nil, errors.New("kitex: this version of Kitex does not name its services")
	}
	methods, err := methodsOf(services)
	if err != nil {
		return nil, err
	}
	s.methods, s.services = methods, slices.Sorted(maps.Keys(services))
	own := []breezeway.ServerOption{breezeway.WithService(wire.Number),
		breezeway.WithOffload(mostHandlers),
		breezeway.WithForeignProtocol(thriftProtocol), breezeway.WithStreamHandler(s.serveStream)}
	listener, err := s.plain.listen(func() (*breezeway.NetListener, error) {
		return breezeway.ListenNet(s.factory.addresses, s.handle, append(own, s.factory.opts...)...)
	})
	if err != nil {
		return nil, err
	}
	s.factory.longest = listener.MaxMessage()
	return listener, nil
}

// thriftProtocol is the name of ALPN by which plain clients ask for Thrift over tls:.
const thriftProtocol = "thrift"

// ConnCount returns how many plain clients are connected.
func (s *transServer) ConnCount() utils.AtomicInt { return s.plain.count() }

// BootstrapServer serves the plain clients of a listener, which serves sessions on its own.
func (s *transServer) BootstrapServer(listener net.Listener) error {
	sessions, is := listener.(*breezeway.NetListener)
	if !is {
		return errors.New("kitex: Server has the addresses; leave out WithListener")
	}
	for {
		conn, err := sessions.Accept()
		if err != nil {
			if s.plain.isStopping() {
				err = nil
			}
			return err
		}
		served := s.plain.add(conn)
		go s.serve(served)
	}
}

// Shutdown ends listening, asks clients to begin nothing new here, and waits until their requests
// are served, up to the server's ExitWaitTime; then it ends the rest.
func (s *transServer) Shutdown() error {
	sessions := s.plain.stop()
	if sessions == nil {
		return nil
	}
	sessions.GoAway()
	time.Sleep(grace)
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.ExitWaitTime)
	defer cancel()
	if handler, is := s.handler.(remote.GracefulShutdown); is {
		_ = handler.GracefulShutdown(ctx)
	}
	done := make(chan error, 1)
	go func() { done <- sessions.Shutdown(ctx) }()
	ticker := time.NewTicker(grace / 10)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			s.plain.endAtRest()
		}
	}
}

// handlers are Kitex's handlers of native calls and of plain clients.
type handlers struct {
	native, plain remote.ServerTransHandler
	streamer      *streamer
}

// of returns the handler of a call or of a plain client.
func (h handlers) of(conn net.Conn) remote.ServerTransHandler {
	if _, is := conn.(*nativeCall); is {
		return h.native
	}
	return h.plain
}

func (h handlers) Write(ctx context.Context, conn net.Conn, message remote.Message) (
	context.Context, error) {
	return h.of(conn).Write(ctx, conn, message)
}

func (h handlers) Read(ctx context.Context, conn net.Conn, message remote.Message) (
	context.Context, error) {
	return h.of(conn).Read(ctx, conn, message)
}

func (h handlers) OnActive(ctx context.Context, conn net.Conn) (context.Context, error) {
	if _, is := conn.(*nativeStream); is {
		return ctx, nil
	}
	return h.of(conn).OnActive(ctx, conn)
}

func (h handlers) OnRead(ctx context.Context, conn net.Conn) error {
	if stream, is := conn.(*nativeStream); is {
		stream.run(ctx)
		return nil
	}
	return h.of(conn).OnRead(ctx, conn)
}

func (h handlers) OnInactive(ctx context.Context, conn net.Conn) {
	if _, is := conn.(*nativeStream); !is {
		h.of(conn).OnInactive(ctx, conn)
	}
}

func (h handlers) OnError(ctx context.Context, err error, conn net.Conn) {
	h.of(conn).OnError(ctx, err, conn)
}

func (h handlers) OnMessage(ctx context.Context, args, result remote.Message) (context.Context,
	error) {
	return h.native.OnMessage(ctx, args, result) // They are the same.
}

func (h handlers) SetPipeline(pipeline *remote.TransPipeline) {
	h.native.SetPipeline(pipeline)
	h.plain.SetPipeline(pipeline)
}

// SetInvokeHandleFunc gives all of them what calls the service.
func (h handlers) SetInvokeHandleFunc(invoke endpoint.Endpoint) {
	h.streamer.invoke = invoke
	for _, handler := range []remote.ServerTransHandler{h.native, h.plain} {
		if setter, is := handler.(remote.InvokeHandleFuncSetter); is {
			setter.SetInvokeHandleFunc(invoke)
		}
	}
}

// GracefulShutdown notifies plain clients of the end of their connections.
func (h handlers) GracefulShutdown(ctx context.Context) error {
	if handler, is := h.plain.(remote.GracefulShutdown); is {
		return handler.GracefulShutdown(ctx)
	}
	return nil
}
