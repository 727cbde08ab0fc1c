package breezewaykitex

import (
	"context"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cloudwego/gopkg/bufiox"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/utils"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// grace is how long a server that stops goes on to accept, and how long a connection must have been
// at rest when it ends it. Requests that have come are served without it; it is for requests that a
// client has sent, or is about to send, before it has learnt of the stop. Kitex's own transport
// waits as long.
const grace = 100 * time.Millisecond

// silence is how long a server that stops waits for the next byte on a connection that may not be
// at rest: behind a oneway call, which has no reply, or within a request.
const silence = 10 * grace

// leastIdle is how long a connection may at least be idle, as with Kitex's own transports.
const leastIdle = 2 * time.Minute

// plainConns are the connections of clients that speak Thrift in Kitex's framings.
type plainConns struct {
	mu       sync.Mutex
	listener *breezeway.NetListener
	stopping bool
	conns    map[*plainConn]struct{}
}

// listen keeps what listen returns for stop. It serves sessions from then on, so a stop meanwhile
// waits for it.
func (p *plainConns) listen(listen func() (*breezeway.NetListener, error)) (*breezeway.NetListener,
	error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return nil, breezeway.ErrServerClosed
	}
	listener, err := listen()
	if err == nil {
		p.listener, p.conns = listener, map[*plainConn]struct{}{}
	}
	return listener, err
}

// stop returns the listener, if there is one, which is about to end.
func (p *plainConns) stop() *breezeway.NetListener {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopping = true
	return p.listener
}

func (p *plainConns) isStopping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopping
}

func (p *plainConns) count() utils.AtomicInt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return utils.AtomicInt(len(p.conns))
}

func (p *plainConns) add(conn net.Conn) *plainConn {
	served := newPlainConn(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[served] = struct{}{}
	return served
}

func (p *plainConns) remove(conn *plainConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

func (p *plainConns) endAtRest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		conn.endAtRest()
	}
}

// serve serves what comes on a connection until its end.
func (s *transServer) serve(conn *plainConn) {
	defer func() {
		if reason := recover(); reason != nil {
			klog.Errorf("KITEX: panic on a connection of %v: %v\n%s", conn.RemoteAddr(), reason,
				debug.Stack())
		}
		s.plain.remove(conn)
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

// plainConn is a connection on which requests and replies take turns: it is at rest from a reply
// to the next byte that is read. While a call runs, nothing is read.
type plainConn struct {
	net.Conn
	reader *bufiox.DefaultReader
	writer *bufiox.DefaultWriter
	peer   peerAddr

	mu     sync.Mutex
	atRest bool
	ending bool
	since  time.Time
	// reading is since when a read waits; zero while none does.
	reading time.Time
}

func newPlainConn(conn net.Conn) *plainConn {
	served := &plainConn{Conn: conn, atRest: true, since: time.Now()}
	if from, is := conn.(interface{ Peer() breezeway.Peer }); is {
		served.peer.peer = from.Peer()
	}
	served.reader = bufiox.NewDefaultReader(readerOf{served})
	served.writer = bufiox.NewDefaultWriter(served)
	return served
}

// Reader returns the buffer of what came, as gonet's handlers ask for it.
func (c *plainConn) Reader() *bufiox.DefaultReader { return c.reader }

// Writer returns the buffer of what goes out.
func (c *plainConn) Writer() *bufiox.DefaultWriter { return c.writer }

// RemoteAddr returns the client, as a *peerAddr.
func (c *plainConn) RemoteAddr() net.Addr { return &c.peer }

// Read reads what the buffer has, and then the connection.
func (c *plainConn) Read(to []byte) (int, error) { return c.reader.Read(to) }

// readerOf reads a connection for its buffer.
type readerOf struct{ *plainConn }

func (r readerOf) Read(to []byte) (int, error) { return r.receive(to) }

func (c *plainConn) receive(to []byte) (int, error) {
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

func (c *plainConn) Write(bytes []byte) (int, error) {
	defer c.replied()
	return c.Conn.Write(bytes)
}

func (c *plainConn) replied() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atRest, c.since = true, time.Now()
}

// endAtRest ends a connection without calls in flight.
func (c *plainConn) endAtRest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	isSilent := !c.reading.IsZero() && time.Since(c.reading) >= silence
	if isSilent || c.atRest && time.Since(c.since) >= grace {
		c.ending = true
		_ = c.Conn.SetReadDeadline(time.Now())
	}
}
