package breezeway

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// maxWrite is the longest message that a Write on a net.Conn makes: several of them are under way,
// and one that waits for room holds up little.
const maxWrite = 64 << 10

// streamConn is a stream as a net.Conn: message boundaries mean nothing.
type streamConn struct {
	stream *Stream
	local  Address
	close  func()

	reading, writing deadlineContext

	read    sync.Mutex // held by Read
	current Message
	at      int
	write   sync.Mutex // held by Write
}

// NetConn gives the stream as a net.Conn, for code that speaks a protocol of its own: net/http,
// gRPC. Deadlines may be set at any time; CloseWrite ends this side's direction. The stream is not
// used otherwise afterwards.
func (t *Stream) NetConn() net.Conn {
	return &streamConn{stream: t, local: Address{Carrier: t.session.link.carrier()}}
}

// deadlineContext is a context that ends at a deadline which may be moved.
type deadlineContext struct {
	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	timer  *time.Timer
	ended  bool
}

func (d *deadlineContext) get() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx == nil {
		d.ctx, d.cancel = context.WithCancel(context.Background())
	}
	return d.ctx
}

// set moves the deadline. Who waits already learns of it: a deadline that has passed ends the
// context, and one that is moved away from there makes a new one.
func (d *deadlineContext) set(deadline time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.ended {
		return
	}
	if d.ctx == nil || d.ctx.Err() != nil {
		d.ctx, d.cancel = context.WithCancel(context.Background())
	}
	if deadline.IsZero() {
		return
	}
	d.timer = time.AfterFunc(time.Until(deadline), d.cancel)
	if !time.Now().Before(deadline) {
		d.cancel()
	}
}

// end ends it for good.
func (d *deadlineContext) end() {
	d.get()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	d.cancel()
}

// Read reads what has come. A reset by the other side's Close is the end, as of a connection.
func (c *streamConn) Read(to []byte) (int, error) {
	if len(to) == 0 {
		return 0, nil
	}
	c.read.Lock()
	defer c.read.Unlock()
	for c.at == c.current.Len() {
		c.current.Release()
		c.current, c.at = Message{}, 0
		next, err := c.stream.Recv(c.reading.get())
		if err != nil {
			return 0, c.reading.netError(err)
		}
		c.current = next
	}
	n := min(len(to), c.current.Len()-c.at)
	if err := c.current.copyOut(to[:n], c.at); err != nil {
		return 0, net.ErrClosed
	}
	c.at += n
	return n, nil
}

// Write sends all bytes, in messages of up to 64 KiB.
func (c *streamConn) Write(bytes []byte) (int, error) {
	c.write.Lock()
	defer c.write.Unlock()
	written := 0
	for written < len(bytes) {
		piece := bytes[written:min(len(bytes), written+maxWrite)]
		if err := c.stream.Send(c.writing.get(), piece); err != nil {
			return written, c.writing.netError(err)
		}
		written += len(piece)
	}
	return written, nil
}

func (d *deadlineContext) netError(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var reset *ResetError
	switch {
	case d.ended:
		return net.ErrClosed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return os.ErrDeadlineExceeded
	case errors.As(err, &reset) && reset.Code == CodeCancelled, errors.Is(err, ErrPeerClosed):
		return io.EOF
	case errors.Is(err, ErrClosed):
		return net.ErrClosed
	}
	return err
}

// CloseWrite ends this side's direction: the other side reads io.EOF behind what was written.
func (c *streamConn) CloseWrite() error { return c.stream.CloseSend() }

// Close ends both directions. The other side still reads what was written before, and what it
// writes from now on resets the stream, as with TCP.
func (c *streamConn) Close() error {
	err := c.stream.CloseSend()
	c.stream.discard()
	c.reading.end()
	c.writing.end()
	if c.close != nil {
		c.close()
	}
	if err != nil && !errors.Is(err, io.ErrClosedPipe) {
		c.stream.Reset(CodeCancelled)
	}
	return nil
}

// IsActive says whether it can still be read and written, as far as the other side has said. Pools
// of connections ask for it.
func (c *streamConn) IsActive() bool {
	s, t := c.stream.session, c.stream
	s.catchUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil && !t.wasReset && !t.outgoing.isOver() && !t.incoming.isOver()
}

func (c *streamConn) LocalAddr() net.Addr  { return c.local }
func (c *streamConn) RemoteAddr() net.Addr { return c.local }

// Peer is the process on the other side.
func (c *streamConn) Peer() Peer { return c.stream.Peer() }

func (c *streamConn) SetDeadline(deadline time.Time) error {
	c.reading.set(deadline)
	c.writing.set(deadline)
	return nil
}

func (c *streamConn) SetReadDeadline(deadline time.Time) error {
	c.reading.set(deadline)
	return nil
}

func (c *streamConn) SetWriteDeadline(deadline time.Time) error {
	c.writing.set(deadline)
	return nil
}
