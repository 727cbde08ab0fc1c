package kitex

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/remote/trans/gonet"

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

type transServerFactory struct{ remote.TransServerFactory }

func newTransServerFactory() remote.TransServerFactory {
	return transServerFactory{gonet.NewTransServerFactory()}
}

// NewTransServer gives gonet's server, which stops as Kitex's own does.
func (f transServerFactory) NewTransServer(opts *remote.ServerOption,
	handler remote.ServerTransHandler) remote.TransServer {
	return &transServer{TransServer: f.TransServerFactory.NewTransServer(opts, handler)}
}

// transServer is gonet's, but that Shutdown ends connections at rest, whose clients would otherwise
// have it wait to its limit.
type transServer struct {
	remote.TransServer
	listener drainingListener
}

// BootstrapServer serves a listener.
func (s *transServer) BootstrapServer(listener net.Listener) error {
	s.listener.mu.Lock()
	s.listener.Listener, s.listener.conns = listener, map[*servedConn]struct{}{}
	s.listener.mu.Unlock()
	return s.TransServer.BootstrapServer(&s.listener)
}

// Shutdown ends listening, tells clients to begin nothing new here, and waits until what they have
// asked for is served, up to the server's ExitWaitTime; then it ends what is left.
func (s *transServer) Shutdown() error {
	if listener, is := s.listener.get().(*breezeway.NetListener); is {
		listener.GoAway()
		time.Sleep(grace)
	}
	done := make(chan error, 1)
	go func() { done <- s.TransServer.Shutdown() }()
	ticker := time.NewTicker(grace / 10)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			s.listener.end()
			return err
		case <-ticker.C:
			s.listener.endAtRest()
		}
	}
}

// drainingListener knows the connections that it has accepted.
type drainingListener struct {
	net.Listener
	mu    sync.Mutex
	conns map[*servedConn]struct{}
}

func (l *drainingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	served := &servedConn{Conn: conn, listener: l, atRest: true, since: time.Now()}
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
	listener *drainingListener

	mu     sync.Mutex
	atRest bool
	ending bool
	since  time.Time
	// reading is since when a read waits; zero while none does.
	reading time.Time
}

func (c *servedConn) Read(to []byte) (int, error) {
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
	n, err := c.Conn.Write(bytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atRest, c.since = true, time.Now()
	return n, err
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

// Close closes the connection.
func (c *servedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// Peer is the process on the other side.
func (c *servedConn) Peer() breezeway.Peer {
	if conn, is := c.Conn.(interface{ Peer() breezeway.Peer }); is {
		return conn.Peer()
	}
	return breezeway.Peer{}
}
