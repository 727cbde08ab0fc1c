package breezewaygrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// A Config configures a [Server], for calls of both gears.
type Config struct {
	// Unary and Stream are the interceptors. The first one of each sees a call first.
	Unary  []grpc.UnaryServerInterceptor
	Stream []grpc.StreamServerInterceptor
	// MaxRecvMsgSize is the length of the longest message that the server takes; 0 is 4 MiB.
	MaxRecvMsgSize int
	// HTTP2 has further options of grpc-go, which calls over HTTP/2 alone obey.
	HTTP2 []grpc.ServerOption
}

// A Server serves the services of generated code, as a grpc.ServiceRegistrar, in both gears: native
// calls, and any client of HTTP/2 at the socket files and ports.
//
//	server := breezewaygrpc.NewServer(breezewaygrpc.Config{})
//	pb.RegisterUsersServer(server, users)
//	err := server.Listen("shm:/run/user.sock,tcp:0.0.0.0:7000")
//	err = server.Serve()
type Server struct {
	http2    *grpc.Server
	services map[string]*service
	unary    grpc.UnaryServerInterceptor // nil for none
	stream   grpc.StreamServerInterceptor
	maxRecv  int

	listener *breezeway.NetListener
	listens  chan struct{} // closed once listener is set

	mu        sync.Mutex
	calls     int
	stops     int        // running calls of GracefulStop and Stop
	isStopped bool       // by Stop
	changed   *sync.Cond // one of these has changed
}

// A service is a registered one, with its methods.
type service struct {
	impl    any
	methods map[string]*grpc.MethodDesc
	streams map[string]*grpc.StreamDesc
}

// NewServer returns a server without services.
func NewServer(config Config) *Server {
	maxRecv := config.MaxRecvMsgSize
	if maxRecv == 0 {
		maxRecv = defaultMaxRecv
	}
	s := &Server{services: map[string]*service{}, maxRecv: maxRecv,
		unary: chainUnary(config.Unary), stream: chainStream(config.Stream),
		listens: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	s.http2 = grpc.NewServer(slices.Concat(config.HTTP2, []grpc.ServerOption{
		grpc.Creds(Credentials()), grpc.MaxRecvMsgSize(maxRecv),
		grpc.ChainUnaryInterceptor(config.Unary...),
		grpc.ChainStreamInterceptor(config.Stream...)})...)
	return s
}

// RegisterService adds a service, before Listen. Generated code calls it.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	if s.listener != nil {
		panic(fmt.Sprintf("grpc: %s is registered behind Listen", desc.ServiceName))
	}
	s.http2.RegisterService(desc, impl) // Ends the program if impl does not fit.
	added := &service{impl, map[string]*grpc.MethodDesc{}, map[string]*grpc.StreamDesc{}}
	for i := range desc.Methods {
		added.methods[desc.Methods[i].MethodName] = &desc.Methods[i]
	}
	for i := range desc.Streams {
		added.streams[desc.Streams[i].StreamName] = &desc.Streams[i]
	}
	s.services[desc.ServiceName] = added
}

// GetServiceInfo returns the services, for those that describe them (reflection).
func (s *Server) GetServiceInfo() map[string]grpc.ServiceInfo { return s.http2.GetServiceInfo() }

// Listen listens at addresses, separated by commas. Native calls are served from now on.
func (s *Server) Listen(addresses string, opts ...breezeway.ServerOption) error {
	own := []breezeway.ServerOption{breezeway.WithService(grpcService),
		breezeway.WithMaxMetadata(longestBlock), breezeway.WithStreamHandler(s.serve),
		breezeway.WithForeignProtocol(http2Protocol)}
	listener, err := breezeway.ListenNet(addresses, refuse, slices.Concat(opts, own)...)
	if err != nil {
		return err
	}
	s.listener = listener
	close(s.listens)
	return nil
}

func refuse(context.Context, *breezeway.Call) error {
	return &breezeway.CallError{Code: breezeway.CodeRefused,
		Reason: "only gRPC is served here, by streams"}
}

// Addr returns the first address, with the chosen port in place of 0.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve serves until GracefulStop or Stop has returned, or until a successor has taken over (option
// TakeOver) and no call runs.
func (s *Server) Serve() error {
	err := s.http2.Serve(s.listener)
	if errors.Is(err, net.ErrClosed) {
		err = nil // A successor serves, or the server is being stopped.
	}
	s.await(func() bool { return s.stops == 0 && (err != nil || s.isServed()) })
	return err
}

// GracefulStop stops listening, asks clients to begin nothing new here, and waits for the calls
// that run. Clients that keep their sessions after the last call are cut a second later.
func (s *Server) GracefulStop() { s.stop(context.Background(), s.http2.GracefulStop) }

// Stop stops listening and ends all sessions. It does not wait for handlers, whose contexts end.
func (s *Server) Stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.change(func() { s.isStopped = true })
	s.stop(ctx, s.http2.Stop)
}

// leavePatience is how long a server that has stopped waits for clients to end their sessions.
const leavePatience = time.Second

func (s *Server) stop(ctx context.Context, stopHTTP2 func()) {
	s.change(func() { s.stops++ })
	defer s.change(func() { s.stops-- })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if s.listener != nil {
			_ = s.listener.Shutdown(ctx)
		}
	}()
	stopHTTP2()
	for {
		s.await(s.isServed)
		select {
		case <-closed:
			s.await(s.isServed) // Their clients may be gone.
			return
		case <-time.After(leavePatience):
		}
		if s.isIdle() {
			cancel()
		}
	}
}

// isServed returns true if no call runs, or behind Stop. The lock is held.
func (s *Server) isServed() bool { return s.calls == 0 || s.isStopped }

// await waits until a condition holds. The lock is held during its calls.
func (s *Server) await(holds func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !holds() {
		s.changed.Wait()
	}
}

// change makes a change that await may wait for.
func (s *Server) change(apply func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	apply()
	s.changed.Broadcast()
}

func (s *Server) isIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls == 0
}

// serve serves a stream: a call, or a connection of HTTP/2.
func (s *Server) serve(ctx context.Context, stream *breezeway.Stream) {
	switch stream.Method() {
	case callMethod:
		s.change(func() { s.calls++ })
		defer s.change(func() { s.calls-- })
		s.serveCall(ctx, stream)
	case connectionMethod:
		<-s.listens
		s.listener.Offer(stream)
	default:
		stream.Reset(breezeway.CodeNoSuchMethod)
	}
}

// chainUnary returns the interceptors as one, or nil if there are none.
func chainUnary(list []grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	if len(list) <= 1 {
		return slices.Concat(list, []grpc.UnaryServerInterceptor{nil})[0]
	}
	first, rest := list[0], chainUnary(list[1:])
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo,
		handler grpc.UnaryHandler) (any, error) {
		return first(ctx, request, info, func(ctx context.Context, request any) (any, error) {
			return rest(ctx, request, info, handler)
		})
	}
}

// chainStream returns the interceptors as one, or nil if there are none.
func chainStream(list []grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	if len(list) <= 1 {
		return slices.Concat(list, []grpc.StreamServerInterceptor{nil})[0]
	}
	first, rest := list[0], chainStream(list[1:])
	return func(impl any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
		handler grpc.StreamHandler) error {
		return first(impl, stream, info, func(impl any, stream grpc.ServerStream) error {
			return rest(impl, stream, info, handler)
		})
	}
}
