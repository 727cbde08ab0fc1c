package breezeway

import (
	"cmp"
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
	// failed is why it serves no longer, once done is closed; nil if it was closed.
	failed error
	// left are connections whose clients are gone and that nobody has accepted yet.
	left chan struct{}
	// stopped is done once served was read.
	stopped sync.Once
}

// ListenNet listens at addresses and gives a net.Listener of the streams that clients open, for
// code that speaks a protocol of its own: net/http, gRPC. Clients connect with DialNet.
func ListenNet(addresses string, opts ...Option) (*NetListener, error) {
	return new(Server).ListenNet(addresses, opts...)
}

// ListenNet is the function of that name for a server whose Handler serves the calls of the same
// sessions, and whose Streams, if it is set, serves their streams: then Accept gives clients of a
// ForeignProtocol only. The server serves until the listener's end, without Listen and Serve.
func (s *Server) ListenNet(addresses string, opts ...Option) (*NetListener, error) {
	l := &NetListener{server: s, conns: make(chan net.Conn), done: make(chan struct{}),
		served: make(chan error, 1)}
	if s.Streams == nil {
		s.Streams = l.offer
	}
	if s.Handler == nil {
		s.Handler = func(*Call) error { return &CallError{CodeNoSuchMethod, "streams only"} }
	}
	s.failed, s.foreign = l.end, l.offerForeign
	if err := s.Listen(addresses, opts...); err != nil {
		return nil, err
	}
	l.left = make(chan struct{}, s.opts.maxStreams)
	go func() {
		err := s.Serve()
		l.served <- err
		l.end(err) // By itself if a successor serves.
	}()
	return l, nil
}

// end has Accept say why it is over.
func (l *NetListener) end(why error) {
	l.once.Do(func() {
		if !errors.Is(why, ErrServerClosed) {
			l.failed = why
		}
		close(l.done)
	})
}

// offer hands a stream to Accept, and keeps it until its connection is closed. Of clients that are
// gone, as many are kept for Accept as one client may open.
func (l *NetListener) offer(stream *Stream) {
	closed := make(chan struct{})
	var once sync.Once
	conn := stream.NetConn().(*streamConn)
	conn.close = func() { once.Do(func() { close(closed) }) }
	select {
	case l.conns <- conn:
		<-closed
		return
	case <-l.done:
		return
	case <-stream.session.done:
	}
	if l.keepsLeft(conn) {
		<-closed
	}
}

// offerForeign hands the connection of a client of another protocol to Accept, and keeps it until
// it is closed.
func (l *NetListener) offerForeign(conn *foreignConn) {
	select {
	case l.conns <- conn:
		<-conn.closed
	case <-conn.closed:
	case <-l.done:
	}
}

// keepsLeft offers a connection whose client is gone, if it is not one too many, and says whether
// it was accepted.
func (l *NetListener) keepsLeft(conn net.Conn) bool {
	select {
	case l.left <- struct{}{}:
		defer func() { <-l.left }()
	default:
		return false
	}
	select {
	case l.conns <- conn:
		return true
	case <-l.done:
		return false
	}
}

// Accept waits for the next connection.
func (l *NetListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, cmp.Or(l.failed, net.ErrClosed)
	}
}

// GoAway has clients begin nothing new here, and takes no new ones. Accept gives what they began
// before they have learnt of it: who stops accepting right after Close leaves that unserved.
func (l *NetListener) GoAway() { l.server.sendAway() }

// Close ends listening. Connections go on until they are closed, as those of any listener; their
// clients are told to begin nothing new here, and each session ends with the last connection on it.
// Shutdown waits for that.
func (l *NetListener) Close() error {
	l.once.Do(func() { close(l.done) })
	l.server.leave()
	return nil
}

// Shutdown is Close, and waits until all connections were closed; those that are left when the
// context is done it ends.
func (l *NetListener) Shutdown(ctx context.Context) error {
	_ = l.Close()
	err := l.server.closeOnceServed(ctx)
	l.stopped.Do(func() {
		if served := <-l.served; !errors.Is(served, ErrServerClosed) {
			err = errors.Join(err, served)
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
