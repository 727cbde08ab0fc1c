package breezeway

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// maxWrite is the longest message that a Write on a net.Conn sends. Several such messages fit into
// the window, and one that waits for room delays little.
const maxWrite = 64 << 10

// A streamConn is a stream as a net.Conn. Message boundaries have no meaning on it.
type streamConn struct {
	stream *Stream
	local  Address
	close  func()

	reading, writing expiry

	read    sync.Mutex // held by Read
	current Message
	at      int
	write   sync.Mutex // held by Write
	pieces  [][]byte   // of the message that ReadFrom sends
}

// NetConn returns the stream as a net.Conn, for code with a protocol of its own such as net/http or
// gRPC. Deadlines may be set at any time. After a deadline nothing is written, and messages that
// have arrived are still read. CloseWrite ends this side's direction. Do not use the stream itself
// afterwards.
func (t *Stream) NetConn() net.Conn {
	c := &streamConn{stream: t, local: Address{Carrier: t.session.link.carrier()}}
	c.reading.session, c.writing.session = t.session, t.session
	return c
}

// Read reads received bytes. It returns io.EOF after the peer's Close, also if that resets the
// stream.
func (c *streamConn) Read(to []byte) (int, error) {
	if len(to) == 0 {
		return 0, nil
	}
	c.read.Lock()
	defer c.doneReading()
	if err := c.receiveCurrent(); err != nil {
		return 0, err
	}
	n := min(len(to), c.current.Len()-c.at)
	if err := c.current.copyOut(to[:n], c.at); err != nil {
		return 0, net.ErrClosed
	}
	if c.at += n; c.at == c.current.Len() {
		c.dropCurrent() // The peer needs its memory, and Read may never be called again.
	}
	return n, nil
}

// receiveCurrent waits until there is a message with bytes to read. The caller holds the lock of
// Read.
func (c *streamConn) receiveCurrent() error {
	for c.at == c.current.Len() {
		c.dropCurrent()
		next, err := c.stream.receiveWithin(limit{expiry: &c.reading})
		if err == nil && next.Len() == 0 {
			err = c.reading.ended() // Empty messages may come without end.
		}
		if err != nil {
			next.Release()
			return c.reading.netError(err)
		}
		c.current = next
	}
	return nil
}

// dropCurrent releases the message that is being read. The caller holds the lock of Read.
func (c *streamConn) dropCurrent() {
	c.current.Release()
	c.current, c.at = Message{}, 0
}

func (c *streamConn) doneReading() {
	c.read.Unlock()
	c.dropIfClosed()
}

// dropIfClosed releases the message that is being read, once reading has ended. A concurrent reader
// releases it itself.
func (c *streamConn) dropIfClosed() {
	if c.reading.ended() == net.ErrClosed && c.read.TryLock() {
		c.dropCurrent()
		c.read.Unlock()
	}
}

// Write sends bytes in messages of up to 64 KiB, or less if the session's limit is lower.
func (c *streamConn) Write(bytes []byte) (int, error) {
	c.write.Lock()
	defer c.write.Unlock()
	written, lim := 0, limit{expiry: &c.writing}
	for written < len(bytes) {
		piece := bytes[written:min(len(bytes), written+c.most())]
		if err := c.stream.sendWithin(lim, &outgoing{bytes: piece}, false); err != nil {
			return written, c.writeError(err)
		}
		written += len(piece)
	}
	return written, nil
}

// most returns the length of the longest message that it sends.
func (c *streamConn) most() int { return min(maxWrite, c.stream.session.maxMessage) }

// ReadFrom implements [io.ReaderFrom]. It packs the buffers of a net.Buffers into as few messages
// as possible, and copies each byte once, into the memory that the peer reads. The same holds for
// messages of another such connection.
func (c *streamConn) ReadFrom(from io.Reader) (int64, error) {
	switch from := from.(type) {
	case *net.Buffers:
		return c.writeBuffers(from)
	case *streamConn:
		return from.WriteTo(c)
	}
	chunk := netChunks.Get().(*[maxWrite]byte)
	defer netChunks.Put(chunk)
	for sent := int64(0); ; {
		n, err := from.Read(chunk[:])
		if n > 0 {
			n, failed := c.Write(chunk[:n])
			if sent += int64(n); failed != nil {
				return sent, failed
			}
		}
		switch {
		case err == io.EOF:
			return sent, nil
		case err != nil:
			return sent, err
		}
	}
}

var netChunks = sync.Pool{New: func() any { return new([maxWrite]byte) }}

// writeBuffers sends buffers, and removes from them what was sent.
func (c *streamConn) writeBuffers(buffers *net.Buffers) (sent int64, err error) {
	c.write.Lock()
	defer c.write.Unlock()
	defer func() {
		clear(c.pieces[:cap(c.pieces)])
		c.pieces = c.pieces[:0]
	}()
	for len(*buffers) > 0 {
		c.pieces = c.pieces[:0]
		length, whole := 0, 0
		for _, buffer := range *buffers {
			piece := buffer[:min(len(buffer), c.most()-length)]
			c.pieces = append(c.pieces, piece)
			if length += len(piece); len(piece) < len(buffer) {
				break
			}
			whole++
		}
		if length > 0 {
			out := outgoing{pieces: c.pieces}
			if err := c.stream.sendWithin(limit{expiry: &c.writing}, &out, false); err != nil {
				return sent, c.writeError(err)
			}
			sent += int64(length)
		}
		last := c.pieces[len(c.pieces)-1]
		clear((*buffers)[:whole])
		if *buffers = (*buffers)[whole:]; whole < len(c.pieces) {
			(*buffers)[0] = (*buffers)[0][len(last):]
		}
	}
	return sent, nil
}

// WriteTo implements [io.WriterTo]. To another such connection in shared memory it makes no
// intermediate copy.
func (c *streamConn) WriteTo(w io.Writer) (written int64, err error) {
	to, isStream := w.(*streamConn)
	chunk := netChunks.Get().(*[maxWrite]byte)
	defer netChunks.Put(chunk)
	c.read.Lock()
	defer c.doneReading()
	for {
		if err := c.receiveCurrent(); err == io.EOF {
			return written, nil
		} else if err != nil {
			return written, err
		}
		var n int
		if isStream && c.at == 0 && c.current.Len() <= to.most() {
			if n, err = to.sendMessage(&c.current); err == nil {
				c.at = n
			}
		} else {
			n = min(len(chunk), c.current.Len()-c.at)
			if err := c.current.copyOut(chunk[:n], c.at); err != nil {
				return written, net.ErrClosed
			}
			c.at += n
			n, err = w.Write(chunk[:n])
		}
		if c.at == c.current.Len() {
			c.dropCurrent()
		}
		if written += int64(n); err != nil {
			return written, err
		}
	}
}

// sendMessage sends a message that another connection has received.
func (c *streamConn) sendMessage(m *Message) (int, error) {
	c.write.Lock()
	defer c.write.Unlock()
	out := outgoing{message: m}
	if err := c.stream.sendWithin(limit{expiry: &c.writing}, &out, false); err != nil {
		return 0, c.writeError(err)
	}
	return m.Len(), nil
}

func (e *expiry) netError(err error) error {
	var reset *ResetError
	switch ended := e.ended(); {
	case ended == net.ErrClosed:
		return ended
	case errors.As(err, &reset) && reset.Code == CodeCancelled, errors.Is(err, ErrPeerClosed):
		return io.EOF
	case errors.Is(err, ErrClosed):
		return net.ErrClosed
	}
	return err
}

// writeError is netError for a Write, whose io.EOF becomes EPIPE.
func (c *streamConn) writeError(err error) error {
	if err = c.writing.netError(err); err == io.EOF {
		return syscall.EPIPE
	}
	return err
}

// CloseWrite ends this side's direction without waiting. The peer reads io.EOF behind what was
// written.
func (c *streamConn) CloseWrite() error { return c.stream.finish() }

// Close ends both directions without waiting. The peer still reads what was written before, and a
// write of the peer from now on resets the stream, as with TCP. A pending Read or Write ends with
// net.ErrClosed.
func (c *streamConn) Close() error {
	c.reading.end()
	c.writing.end()
	_ = c.stream.finish() // Fails if the stream is over.
	c.stream.discard()
	c.dropIfClosed()
	if c.close != nil {
		c.close()
	}
	return nil
}

// IsActive returns true if the connection can be read and written as far as known here, and its
// server is not going away. Pools of connections call it.
func (c *streamConn) IsActive() bool {
	s, t := c.stream.session, c.stream
	s.catchUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mayBegin(&outgoing{}) == nil && t.state.IsActive()
}

func (c *streamConn) LocalAddr() net.Addr  { return c.local }
func (c *streamConn) RemoteAddr() net.Addr { return c.local }

// Peer returns the peer's credentials.
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

// An expiry is a deadline that can be moved during a wait, for one direction of a net.Conn.
//
// Protocols move it with every message, and it is seldom reached. Therefore a timer that is due too
// early is left running, and checks the deadline when it fires.
type expiry struct {
	session *session
	waiter  *waiter // waits within it; under the session's lock
	// err is the reason why no wait is allowed any more.
	err atomic.Pointer[error]

	mu       sync.Mutex
	deadline time.Time // zero if there is none
	timer    *time.Timer
	due      time.Time // when the timer fires; zero if it is not set
}

var errExpired, errConnClosed = error(os.ErrDeadlineExceeded), net.ErrClosed

// ended returns the reason why no wait is allowed any more, or nil.
func (e *expiry) ended() error {
	if err := e.err.Load(); err != nil {
		return *err
	}
	return nil
}

// set moves the deadline, also of a wait that has begun.
func (e *expiry) set(deadline time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended() == net.ErrClosed {
		return
	}
	e.deadline = deadline
	if !deadline.IsZero() && time.Until(deadline) <= 0 {
		e.stop(&errExpired)
		return
	}
	if e.err.Load() != nil {
		e.err.Store(nil)
	}
	if deadline.IsZero() || !e.due.IsZero() && !deadline.Before(e.due) {
		return
	}
	e.arm()
}

// arm sets the timer to the deadline.
func (e *expiry) arm() {
	e.due = e.deadline
	if left := time.Until(e.deadline); e.timer == nil {
		e.timer = time.AfterFunc(left, e.fire)
	} else {
		e.timer.Reset(left)
	}
}

func (e *expiry) fire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due = time.Time{}
	switch {
	case e.deadline.IsZero() || e.ended() != nil:
	case time.Until(e.deadline) > 0:
		e.arm()
	default:
		e.stop(&errExpired)
	}
}

// end ends all waits for good.
func (e *expiry) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer != nil {
		e.timer.Stop()
	}
	e.stop(&errConnClosed)
}

// stop ends the current wait and later ones.
func (e *expiry) stop(err *error) {
	e.err.Store(err)
	e.session.mu.Lock()
	defer e.session.mu.Unlock()
	if e.waiter != nil {
		e.waiter.wake()
	}
}
