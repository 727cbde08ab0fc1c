package breezeway

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A NetListener serves streams of any method as connections. One session of a client carries any
// number of them.
type NetListener struct {
	server *Server
	conns  chan net.Conn
	done   chan struct{}
	once   sync.Once
	served chan error
	// failed is the reason why it stopped serving, valid once done is closed; nil after Close.
	failed error
	// left limits the connections of clients that are gone which were not accepted yet.
	left chan struct{}
}

// ListenNet listens at addresses and returns a net.Listener of the streams that clients open, for
// code with a protocol of its own such as net/http or gRPC. Clients connect with [Session.DialNet]
// or a [NetDialer]. The handler serves the calls of the same sessions; calls fail with
// CodeNoSuchMethod if it is nil. With [WithStreamHandler] Accept returns only clients of
// [WithForeignProtocol], and the streams that this handler passes to Offer. The server serves until
// the listener ends.
func ListenNet(addresses string, handler Handler, opts ...ServerOption) (*NetListener, error) {
	return (&Server{handler: handler}).listenNet(addresses, opts...)
}

func (s *Server) listenNet(addresses string, opts ...ServerOption) (*NetListener, error) {
	l := &NetListener{server: s, conns: make(chan net.Conn), done: make(chan struct{}),
		served: make(chan error, 1)}
	s.streams = func(_ context.Context, stream *Stream) { l.Offer(stream) }
	s.failed, s.foreign = l.end, l.offerForeign
	if err := s.listen(addresses, opts...); err != nil {
		return nil, err
	}
	l.left = make(chan struct{}, s.opts.maxStreams)
	go func() {
		err := s.Serve()
		l.served <- err
		l.end(err) // Serve returns on its own if a successor serves.
	}()
	return l, nil
}

// end makes Accept return the reason of the end.
func (l *NetListener) end(why error) {
	l.once.Do(func() {
		if !errors.Is(why, ErrServerClosed) {
			l.failed = why
		}
		close(l.done)
	})
}

// Offer passes a stream to Accept, and returns when its connection is closed, for a [StreamHandler]
// of streams that are connections. For clients that are gone, as many streams are kept for Accept
// as one client may open.
func (l *NetListener) Offer(stream *Stream) {
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

// offerForeign passes the connection of a client of another protocol to Accept, and returns when it
// is closed.
func (l *NetListener) offerForeign(conn *foreignConn) {
	select {
	case l.conns <- conn:
		<-conn.closed
	case <-conn.closed:
	case <-l.done:
	}
}

// keepsLeft offers a connection of a client that is gone, within the limit, and returns true if it
// was accepted.
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

// Accept waits for the next connection and returns it.
func (l *NetListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, cmp.Or(l.failed, net.ErrClosed)
	}
}

// GoAway asks clients to begin nothing new here, and accepts no new ones. Accept still returns the
// connections that clients open before they have learned of it. They are not served if the caller
// stops accepting right after Close.
func (l *NetListener) GoAway() { l.server.sendAway() }

// Close stops listening. Open connections continue until they are closed, as those of any listener.
// Their clients are asked to begin nothing new here, and each session ends with the last connection
// on it. Shutdown waits for that.
func (l *NetListener) Close() error {
	l.once.Do(func() { close(l.done) })
	l.server.leave()
	return nil
}

// Shutdown closes the listener and waits until all connections are closed. When ctx ends, it closes
// those that are left.
func (l *NetListener) Shutdown(ctx context.Context) error {
	_ = l.Close()
	err := l.server.closeOnceServed(ctx)
	select {
	case served := <-l.served:
		l.served <- served // For the next Shutdown.
		if !errors.Is(served, ErrServerClosed) {
			err = errors.Join(err, served)
		}
	case <-ctx.Done(): // A handler that ignores its end keeps Serve from returning.
	}
	return err
}

// Addr returns the first address of the listener.
func (l *NetListener) Addr() net.Addr { return l.server.Addresses()[0] }

// MaxMessage returns the length of the longest message that the option [WithCap] allows.
func (l *NetListener) MaxMessage() int {
	return int(min(l.server.opts.cap, proto.MaxFrameBody))
}

// DialNet opens a connection to a [NetListener]: a stream on the session. Any number share one
// session.
func (s *Session) DialNet(ctx context.Context) (net.Conn, error) {
	stream, err := s.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	return stream.NetConn(), nil
}

// A NetDialer opens connections to a [NetListener], any number on one session. It dials the session
// with the first connection, and a new one after the session has ended or its server goes away. If
// its server goes away, a session is closed when the last connection on it has ended.
type NetDialer struct{ sessions sharing }

// NewNetDialer returns a dialer for the given addresses, separated by commas. Each session uses the
// first reachable address.
func NewNetDialer(addresses string, opts ...DialOption) *NetDialer {
	return &NetDialer{sharing{addresses: addresses, opts: opts}}
}

// Dial opens a connection. An error that concerns only this connection, such as the end of ctx
// while the peer's MaxStreams is reached, does not affect open connections.
func (d *NetDialer) Dial(ctx context.Context) (conn net.Conn, err error) {
	err = d.sessions.try(ctx, func(session *Session) (bool, error) {
		conn, err = session.DialNet(ctx)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// Close closes the dialer's sessions with the connections on them. Later calls of Dial fail with
// net.ErrClosed.
func (d *NetDialer) Close() error {
	d.sessions.close()
	return nil
}
