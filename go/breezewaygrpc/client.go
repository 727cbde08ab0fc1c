package breezewaygrpc

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/redial"
)

// Numbers of docs/grpc-reference.md.
const (
	grpcService      = 2 // in a hello
	connectionMethod = 0 // of a stream that is a connection of HTTP/2
	callMethod       = 1 // of a stream that is a call
)

// resends is how often a call is begun again that a session has received nothing of.
const resends = 16

// A Client makes the calls of generated code, as a grpc.ClientConnInterface: natively if the server
// at the first reachable address does, and as HTTP/2 otherwise. It connects with its first call,
// and again after the session has ended.
//
// Natively, these options have no effect: grpc.WithStatsHandler, grpc.WithPerRPCCredentials (the
// option of a call has), grpc.WithDefaultServiceConfig, and those of HTTP/2 itself. Interceptors
// and grpc.WithDefaultCallOptions have theirs in both gears.
type Client struct {
	conn      *grpc.ClientConn // of HTTP/2; it runs the interceptors of both gears
	sessions  *breezeway.Client
	addresses []breezeway.Address
	opts      []breezeway.DialOption
	// streams dial the connections of HTTP/2 in shared memory.
	streams map[breezeway.Address]*breezeway.NetDialer
	isHTTP2 atomic.Bool
}

// NewClient returns a client of the first reachable one of addresses, separated by commas. It dials
// with the options of [WithSessionOptions].
func NewClient(addresses string, opts ...grpc.DialOption) (*Client, error) {
	list, err := breezeway.ParseAddresses(addresses)
	if err != nil {
		return nil, err
	}
	c := &Client{addresses: list, streams: map[breezeway.Address]*breezeway.NetDialer{}}
	for _, option := range opts {
		if session, is := option.(sessionOption); is {
			c.opts = append(c.opts, session.opts...)
		}
	}
	c.sessions = breezeway.NewClient(addresses, slices.Concat(c.opts, []breezeway.DialOption{
		breezeway.WithService(grpcService), breezeway.WithMaxMetadata(longestBlock)})...)
	for _, address := range list {
		if address.Carrier == breezeway.Shm {
			c.streams[address] = breezeway.NewNetDialer(address.String(), c.opts...)
		}
	}
	c.conn, err = grpc.NewClient(Scheme+":"+addresses, slices.Concat(opts, []grpc.DialOption{
		grpc.WithResolvers(builder{}), grpc.WithContextDialer(c.dialHTTP2),
		grpc.WithTransportCredentials(Credentials()),
		// The last ones of their chains.
		grpc.WithChainUnaryInterceptor(c.intercept),
		grpc.WithChainStreamInterceptor(c.interceptStream)})...)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// WithSessionOptions returns an option of [NewClient] that sets options of its sessions.
func WithSessionOptions(opts ...breezeway.DialOption) grpc.DialOption {
	return sessionOption{opts: opts}
}

type sessionOption struct {
	grpc.EmptyDialOption
	opts []breezeway.DialOption
}

// Invoke makes a unary call.
func (c *Client) Invoke(ctx context.Context, method string, request, reply any,
	opts ...grpc.CallOption) error {
	return c.conn.Invoke(ctx, method, request, reply, opts...)
}

// NewStream begins a streaming call.
func (c *Client) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.conn.NewStream(ctx, desc, method, opts...)
}

// Close ends the client's sessions, with the calls in flight.
func (c *Client) Close() error {
	err := c.conn.Close()
	for _, dialer := range c.streams {
		_ = dialer.Close()
	}
	return errors.Join(err, c.sessions.Close())
}

// errHTTP2 is returned where the server makes no native calls.
var errHTTP2 = errors.New("the server speaks HTTP/2 only")

func (c *Client) intercept(ctx context.Context, method string, request, reply any,
	conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if !c.isHTTP2.Load() {
		if err := c.call(ctx, method, request, reply, opts); err != errHTTP2 {
			return err
		}
		c.stayIfReady()
	}
	return invoke(ctx, method, request, reply, conn, opts...)
}

// stayIfReady makes all later calls as HTTP/2, after an attempt to make one natively, if a server
// speaks HTTP/2. A server that closes connections may just be stopping, and the first connection of
// HTTP/2 may be to its successor, with which the next call is made natively.
func (c *Client) stayIfReady() {
	if c.conn.GetState() == connectivity.Ready {
		c.isHTTP2.Store(true)
	}
}

func (c *Client) interceptStream(ctx context.Context, desc *grpc.StreamDesc,
	conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (
	grpc.ClientStream, error) {
	if !c.isHTTP2.Load() {
		stream, err := c.newStream(ctx, desc, method, opts)
		if err != errHTTP2 {
			return stream, err
		}
		c.stayIfReady()
	}
	return open(ctx, desc, conn, method, opts...)
}

// dialHTTP2 connects for HTTP/2: in a stream of a session in shared memory, else on the socket.
func (c *Client) dialHTTP2(ctx context.Context, _ string) (net.Conn, error) {
	var failures []error
	for _, address := range c.addresses {
		conn, err := c.dialAt(ctx, address)
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func (c *Client) dialAt(ctx context.Context, address breezeway.Address) (net.Conn, error) {
	if dialer := c.streams[address]; dialer != nil {
		return dialer.Dial(ctx)
	}
	return breezeway.DialForeign(ctx, address,
		slices.Concat(c.opts,
			[]breezeway.DialOption{breezeway.WithForeignProtocol(http2Protocol)})...)
}

// session returns a session for a native call, or errHTTP2.
func (c *Client) session(ctx context.Context, waits bool) (*breezeway.Session, error) {
	for pauses := (redial.Pauses{}); ; pauses.Await(ctx) {
		session, err := c.sessions.Session(ctx)
		isOther := errors.As(err, new(*breezeway.ForeignError))
		switch {
		case err == nil && session.Service() == grpcService:
			return session, nil
		case isOther:
			return nil, errHTTP2
		case err == nil:
			_ = session.Close() // No native call is on it.
			return nil, errHTTP2
		case errors.Is(err, net.ErrClosed) && !errors.Is(err, breezeway.ErrClosed):
			return nil, errClosing
		case ctx.Err() != nil:
			return nil, failure(ctx.Err())
		case !waits:
			return nil, status.Error(codes.Unavailable, err.Error())
		}
	}
}

var errClosing = status.Error(codes.Canceled, "grpc: the client connection is closing")

// open opens the stream of a call, with the first one of the pieces, and returns the others.
func (c *Client) open(ctx context.Context, o *outbound, pieces [][]byte, isLast bool) (
	stream *breezeway.Stream, rest [][]byte, err error) {
	for tries := 0; ; tries++ {
		session, err := c.session(ctx, o.waits)
		if err != nil {
			return nil, nil, err
		}
		block, err := o.block(ctx, session)
		if err != nil {
			return nil, nil, err
		}
		first, rest := cut(pieces)
		stream, err := session.OpenEntry(withoutDeadline{ctx}, callMethod, breezeway.Entry{
			Metadata: block, Message: first, Last: isLast && len(rest) == 0})
		if err == nil {
			o.opened(session)
			return stream, rest, nil
		}
		if breezeway.MayHaveRun(err) || !isOver(session, err) || tries == resends {
			return nil, nil, failure(err)
		}
	}
}

// isOver returns true if another session may accept what this one has refused.
func isOver(session *breezeway.Session, err error) bool {
	return session.Err() != nil || errors.Is(err, breezeway.ErrGoingAway) ||
		errors.Is(err, breezeway.ErrPeerClosed) || errors.Is(err, breezeway.ErrPeerDied)
}

// withoutDeadline hides the deadline of a context, which travels as a header, and not in the entry
// that opens a stream.
type withoutDeadline struct{ context.Context }

func (withoutDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

// call makes a unary call.
func (c *Client) call(ctx context.Context, method string, request, reply any,
	opts []grpc.CallOption) (err error) {
	o, err := newOutbound(method, opts)
	if err != nil {
		return err
	}
	in := inbound{format: &o.format}
	defer func() {
		if err != errHTTP2 {
			o.finish(&in, err)
		}
	}()
	message, err := o.encode(request)
	if err != nil {
		return err
	}
	defer message.free()
	stream, rest, err := c.open(ctx, o, message.pieces, true)
	if err != nil {
		return err
	}
	in.stream = stream
	defer in.close()
	defer in.release()
	if len(rest) > 0 {
		_, err = send(ctx, stream, rest, nil, nil, true)
		// A server that has replied may want no more of the request.
		if _, isReset := breezeway.IsReset(err); err != nil && !isReset {
			return in.failed(ctx, err)
		}
	}
	return in.receiveOnly(ctx, reply)
}
