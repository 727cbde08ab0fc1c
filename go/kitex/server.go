package kitex

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cloudwego/gopkg/bufiox"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/remote/trans"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/utils"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// grace is how long a server that stops goes on to accept, and how long a connection must have been
// at rest when it ends it. What has come is served without it; it is for what a client has sent, or
// is about to, before it learnt of the stop, of which nothing here can tell. Kitex's own transport
// waits as long.
const grace = 100 * time.Millisecond

// silence is how long a server that stops waits for the next byte on a connection of which it does
// not know whether it is at rest: behind a oneway call, which has no reply, or within a request.
const silence = 10 * grace

// serverHandlers makes handlers of requests on connections of this package.
type serverHandlers struct{}

// NewTransHandler gives Kitex's own, over this package's buffers.
func (serverHandlers) NewTransHandler(opts *remote.ServerOption) (remote.ServerTransHandler,
	error) {
	return trans.NewDefaultSvrTransHandler(opts, newExtension())
}

type transServerFactory struct{}

// NewTransServer gives a server of connections that a listener of Listen accepts.
func (transServerFactory) NewTransServer(opts *remote.ServerOption,
	handler remote.ServerTransHandler) remote.TransServer {
	return &transServer{opts: opts, handler: handler, stopping: make(chan struct{})}
}

// transServer serves connections, each in a goroutine.
type transServer struct {
	opts    *remote.ServerOption
	handler remote.ServerTransHandler

	listener drainingListener
	stopping chan struct{}
	stop     sync.Once
	open     utils.AtomicInt
}

// CreateListener is for servers without WithListener.
func (s *transServer) CreateListener(net.Addr) (net.Listener, error) {
	return nil, errors.New("kitex: WithListener gives a server its listener")
}

// ConnCount is how many connections are open.
func (s *transServer) ConnCount() utils.AtomicInt { return utils.AtomicInt(s.open.Value()) }

// BootstrapServer serves a listener.
func (s *transServer) BootstrapServer(listener net.Listener) error {
	s.listener.mu.Lock()
	s.listener.Listener, s.listener.conns = listener, map[*servedConn]struct{}{}
	s.listener.mu.Unlock()
	for {
		conn, err := s.listener.accept()
		if err != nil {
			select {
			case <-s.stopping:
				return nil
			default:
				return err
			}
		}
		s.open.Inc()
		go func() {
			defer s.open.Dec()
			s.serve(conn)
		}()
	}
}

// leastIdle is how long a connection may at least be idle, as with Kitex's own transports.
const leastIdle = 2 * time.Minute

// serve serves what comes on a connection until its end.
func (s *transServer) serve(conn *servedConn) {
	defer func() {
		if reason := recover(); reason != nil {
			klog.Errorf("KITEX: panic on a connection of %v: %v\n%s", conn.RemoteAddr(), reason,
				debug.Stack())
		}
		_ = conn.reader.Release(nil)
		_ = conn.Close()
	}()
	ctx, err := s.handler.OnActive(context.Background(), conn)
	defer s.handler.OnInactive(ctx, conn)
	for err == nil {
		idle := max(leastIdle, s.opts.MaxConnectionIdleTime)
		_ = conn.SetReadDeadline(time.Now().Add(idle))
		if _, err = conn.reader.Peek(1); err == nil {
			_ = conn.SetReadDeadline(readDeadline(ctx))
			err = s.handler.OnRead(ctx, conn)
		}
	}
	s.handler.OnError(ctx, err, conn)
}

// readDeadline is until when a request that has begun must have come.
func readDeadline(ctx context.Context) (deadline time.Time) {
	if limit := rpcinfo.GetRPCInfo(ctx).Config().ReadWriteTimeout(); limit > 0 {
		deadline = time.Now().Add(limit)
	}
	return deadline
}

// Shutdown ends listening, tells clients to begin nothing new here, and waits until what they have
// asked for is served, up to the server's ExitWaitTime; then it ends what is left.
func (s *transServer) Shutdown() error {
	if listener, is := s.listener.get().(*breezeway.NetListener); is {
		listener.GoAway()
		time.Sleep(grace)
	}
	s.stop.Do(func() { close(s.stopping) })
	if listener := s.listener.get(); listener != nil {
		_ = listener.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.ExitWaitTime)
	defer cancel()
	if handler, is := s.handler.(remote.GracefulShutdown); is {
		_ = handler.GracefulShutdown(ctx)
	}
	defer s.listener.end()
	ticker := time.NewTicker(grace / 10)
	defer ticker.Stop()
	for s.open.Value() > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			s.listener.endAtRest()
		}
	}
	return nil
}

// drainingListener knows the connections that it has accepted.
type drainingListener struct {
	net.Listener
	mu    sync.Mutex
	conns map[*servedConn]struct{}
}

func (l *drainingListener) accept() (*servedConn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	served := newServedConn(conn, l)
	l.conns[served] = struct{}{}
	return served, nil
}

func (l *drainingListener) get() net.Listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Listener
}

// end ends the sessions that are left.
func (l *drainingListener) end() {
	if listener, is := l.get().(*breezeway.NetListener); is {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = listener.Shutdown(over) // The context's error: it waits no longer.
	}
}

func (l *drainingListener) endAtRest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		conn.endAtRest()
	}
}

// servedConn is a connection on which requests and replies take turns: it is at rest from a reply
// to the next byte that is read. While a call runs, nobody reads.
type servedConn struct {
	net.Conn
	buffers
	listener *drainingListener
	closed   sync.Once

	mu     sync.Mutex
	atRest bool
	ending bool
	since  time.Time
	// reading is since when a read waits; zero while none does.
	reading time.Time
}

func newServedConn(conn net.Conn, listener *drainingListener) *servedConn {
	served := &servedConn{Conn: conn, listener: listener, atRest: true, since: time.Now()}
	served.reader = bufiox.NewDefaultReader(readerOf{served})
	served.writer = writer{to: conn, sent: served.replied}
	return served
}

// Read reads what the buffer has, and then the connection.
func (c *servedConn) Read(to []byte) (int, error) { return c.reader.Read(to) }

// readerOf reads a connection for its buffer.
type readerOf struct{ *servedConn }

func (r readerOf) Read(to []byte) (int, error) { return r.receive(to) }

func (c *servedConn) receive(to []byte) (int, error) {
	c.mu.Lock()
	if c.ending {
		_ = c.Conn.SetReadDeadline(time.Now()) // Kitex may have moved it.
	}
	c.reading = time.Now()
	c.mu.Unlock()
	n, err := c.Conn.Read(to)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = time.Time{}
	switch {
	case n > 0 && c.ending: // It had come before the end, and is served.
		c.ending, c.atRest = false, false
		_ = c.Conn.SetReadDeadline(time.Time{})
	case n > 0:
		c.atRest = false
	case c.ending:
		err = io.EOF
	}
	return n, err
}

func (c *servedConn) Write(bytes []byte) (int, error) {
	defer c.replied()
	return c.Conn.Write(bytes)
}

func (c *servedConn) replied() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atRest, c.since = true, time.Now()
}

// endAtRest ends a connection on which nothing is under way.
func (c *servedConn) endAtRest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	isSilent := !c.reading.IsZero() && time.Since(c.reading) >= silence
	if isSilent || c.atRest && time.Since(c.since) >= grace {
		c.ending = true
		_ = c.Conn.SetReadDeadline(time.Now())
	}
}

// Close closes the connection, once.
func (c *servedConn) Close() error {
	err := net.ErrClosed
	c.closed.Do(func() {
		c.listener.mu.Lock()
		delete(c.listener.conns, c)
		c.listener.mu.Unlock()
		err = c.Conn.Close()
	})
	return err
}

// Peer is the process on the other side.
func (c *servedConn) Peer() breezeway.Peer {
	if conn, is := c.Conn.(interface{ Peer() breezeway.Peer }); is {
		return conn.Peer()
	}
	return breezeway.Peer{}
}
