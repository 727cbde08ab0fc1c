// Package kitex runs Kitex (github.com/cloudwego/kitex) over Breezeway: options for a server and
// for a client, each of whose connections is a stream of a shared session.
//
//	listener, err := breezekitex.Listen("shm:/run/user.sock")
//	s := user.NewServer(new(handler), breezekitex.WithListener(listener)...)
//
//	c, err := user.NewClient("user", breezekitex.WithDialer("shm:/run/user.sock")...)
//
// Thrift's framings, codecs and middlewares of Kitex stay as they are. Its default transport
// (netpoll) wants sockets of its own, so its handlers have buffers of this package here: such a
// server takes neither gRPC nor streams, and a client must not ask for multiplexed connections,
// which are netpoll's. Stop of a server serves what is in flight, up to Kitex's own limit
// (server.WithExitWaitTime); clients connect to the next one meanwhile.
package kitex

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/cloudwego/gopkg/bufiox"
	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/remote/trans"
	"github.com/cloudwego/kitex/server"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// Listen listens at addresses, separated by commas, for WithListener.
func Listen(addresses string, opts ...breezeway.Option) (net.Listener, error) {
	return breezeway.ListenNet(addresses, opts...)
}

// WithListener has a server serve the connections of a listener from Listen.
func WithListener(listener net.Listener) []server.Option {
	return []server.Option{
		server.WithListener(listener),
		server.WithTransServerFactory(transServerFactory{}),
		server.WithTransHandlerFactory(serverHandlers{}),
	}
}

// WithDialer has a client connect to the first of the addresses that can be had, whatever instance
// Kitex has resolved. Its connections share one session, which is dialled again once it is over,
// and ends with the process: a Dialer can be closed.
func WithDialer(addresses string, opts ...breezeway.Option) []client.Option {
	return NewDialer(addresses, opts...).Options()
}

// A Dialer makes connections of one session for any number of clients: client.WithSuite(dialer).
type Dialer struct{ sessions *breezeway.NetDialer }

// NewDialer gives a dialer of the first of the addresses that can be had.
func NewDialer(addresses string, opts ...breezeway.Option) *Dialer {
	return &Dialer{breezeway.NewNetDialer(addresses, opts...)}
}

// Options are those of WithDialer, as client.Suite says.
func (d *Dialer) Options() []client.Option {
	return []client.Option{
		// Kitex resolves an instance before it dials; this one is never looked at.
		client.WithHostPorts(unresolved),
		client.WithDialer(d),
		client.WithTransHandlerFactory(clientHandlers{}),
	}
}

// Close ends its session, with the connections that are open.
func (d *Dialer) Close() error { return d.sessions.Close() }

// clientHandlers makes handlers of calls over connections of this package.
type clientHandlers struct{}

// NewTransHandler gives Kitex's own, over this package's buffers.
func (clientHandlers) NewTransHandler(opts *remote.ClientOption) (remote.ClientTransHandler,
	error) {
	return trans.NewDefaultCliTransHandler(opts, newExtension())
}

const unresolved = "127.0.0.1:1"

// DialTimeout opens a stream, as remote.Dialer says.
func (d *Dialer) DialTimeout(network, _ string, timeout time.Duration) (net.Conn, error) {
	ctx := context.Background()
	if timeout > 0 { // As net.Dialer has it, 0 is no limit.
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = limited
	}
	conn, err := d.sessions.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return newConn(conn, network), nil
}

var (
	_ remote.Dialer   = (*Dialer)(nil)
	_ client.Suite    = (*Dialer)(nil)
	_ remote.IsActive = (*conn)(nil)
)

// conn is a connection with buffers.
type conn struct {
	net.Conn
	buffers
	remote net.Addr
	closed sync.Once
}

func newConn(c net.Conn, network string) *conn {
	return &conn{Conn: c, remote: dialled{c.RemoteAddr(), network},
		buffers: buffers{reader: bufiox.NewDefaultReader(c), writer: writer{to: c}}}
}

// dialled is an address of the network that Kitex has asked for: its pool keeps a connection only
// if both agree.
type dialled struct {
	net.Addr
	network string
}

// Network is the one that Kitex has asked for.
func (a dialled) Network() string { return a.network }

// RemoteAddr is the other side's address.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// Read reads what the buffer has, and then the connection.
func (c *conn) Read(to []byte) (int, error) { return c.reader.Read(to) }

// IsActive says whether the stream and its session go on; Kitex's pool drops those that do not.
func (c *conn) IsActive() bool {
	stream, says := c.Conn.(remote.IsActive)
	return says && stream.IsActive()
}

// Close closes the connection, once.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.closed.Do(func() {
		_ = c.reader.Release(nil)
		err = c.Conn.Close()
	})
	return err
}
