package breezeway

import (
	"context"
	"errors"
	"net"
	"sync"
)

// NetListener serves streams of any method as connections, one session of a client carrying any
// number of them.
type NetListener struct {
	server *Server
	conns  chan net.Conn
	done   chan struct{}
	once   sync.Once
	served chan error
}

// ListenNet listens at addresses and gives a net.Listener of the streams that clients open, for
// code that speaks a protocol of its own: net/http, gRPC. Clients connect with DialNet.
func ListenNet(addresses string, opts ...Option) (*NetListener, error) {
	l := &NetListener{conns: make(chan net.Conn), done: make(chan struct{}),
		served: make(chan error, 1)}
	l.server = &Server{Streams: l.offer, Handler: func(*Call) error {
		return &CallError{CodeNoSuchMethod, "streams only"}
	}}
	if err := l.server.Listen(addresses, opts...); err != nil {
		return nil, err
	}
	go func() { l.served <- l.server.Serve() }()
	return l, nil
}

// offer hands a stream to Accept, and keeps it until its connection is closed.
func (l *NetListener) offer(stream *Stream) {
	closed := make(chan struct{})
	var once sync.Once
	conn := stream.NetConn().(*streamConn)
	conn.close = func() { once.Do(func() { close(closed) }) }
	select {
	case l.conns <- conn:
		<-closed
	case <-l.done:
	}
}

// Accept waits for the next connection.
func (l *NetListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends listening, and all sessions with the connections on them.
func (l *NetListener) Close() error {
	var err error
	l.once.Do(func() {
		close(l.done)
		err = l.server.Close()
		if served := <-l.served; !errors.Is(served, ErrServerClosed) {
			err = served
		}
	})
	return err
}

// Addr is the first address that it listens at.
func (l *NetListener) Addr() net.Addr { return l.server.Addresses()[0] }

// DialNet opens a connection to a NetListener: a stream on the session. Any number share one
// session.
func (c *Conn) DialNet(ctx context.Context) (net.Conn, error) {
	stream, err := c.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	return stream.NetConn(), nil
}
