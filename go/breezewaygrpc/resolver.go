package breezewaygrpc

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// Scheme is the scheme of targets: breezeway:shm:/run/user.sock,unix:/run/user-unix.sock.
const Scheme = "breezeway"

// A Dialer connects clients with targets of [Scheme]. Clients with the same target share one
// session, which is dialled again after it has ended or its server goes away.
type Dialer struct {
	opts []breezeway.DialOption

	mu       sync.Mutex
	sessions map[string]*breezeway.NetDialer
	closed   bool
}

// NewDialer returns a dialer of sessions with these options.
func NewDialer(opts ...breezeway.DialOption) *Dialer {
	return &Dialer{opts: opts, sessions: map[string]*breezeway.NetDialer{}}
}

// Options returns options that make a client resolve targets of [Scheme], connect by this dialer,
// and use [Credentials]:
//
//	dialer := breezewaygrpc.NewDialer()
//	client, err := grpc.NewClient("breezeway:shm:/run/user.sock", dialer.Options()...)
func (d *Dialer) Options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithResolvers(builder{}), grpc.WithContextDialer(d.dial),
		grpc.WithTransportCredentials(Credentials())}
}

// Close closes all sessions with the connections on them.
func (d *Dialer) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, session := range d.sessions {
		_ = session.Close()
	}
	return nil
}

func (d *Dialer) dial(ctx context.Context, addresses string) (net.Conn, error) {
	d.mu.Lock()
	session := d.sessions[addresses]
	if session == nil && !d.closed {
		session = breezeway.NewNetDialer(addresses, d.opts...)
		d.sessions[addresses] = session
	}
	d.mu.Unlock()
	if session == nil {
		return nil, net.ErrClosed
	}
	return session.Dial(ctx)
}

// A builder resolves a target into itself. The dialer finds out which of its addresses is
// reachable.
type builder struct{}

func (builder) Scheme() string { return Scheme }

// OverrideAuthority returns the host name in calls, since a path is not a host name.
func (builder) OverrideAuthority(resolver.Target) string { return "localhost" }

func (builder) Build(target resolver.Target, conn resolver.ClientConn, _ resolver.BuildOptions) (
	resolver.Resolver, error) {
	addresses := target.Endpoint()
	if _, err := breezeway.ParseAddresses(addresses); err != nil {
		return nil, err
	}
	// The dialer interprets the list, which is one address for gRPC.
	state := resolver.State{Addresses: []resolver.Address{{Addr: addresses}}}
	return fixed{}, conn.UpdateState(state)
}

// fixed is a resolver with a constant result.
type fixed struct{}

func (fixed) ResolveNow(resolver.ResolveNowOptions) {}
func (fixed) Close()                                {}
