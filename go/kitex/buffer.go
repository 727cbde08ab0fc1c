package kitex

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/bytedance/gopkg/lang/mcache"
	"github.com/cloudwego/gopkg/bufiox"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/remote/trans"
	"github.com/cloudwego/kitex/pkg/remote/trans/gonet"
)

// extension is gonet's, but that what is sent is copied once: from where the program has it into
// what the other side reads.
type extension struct{ trans.Extension }

func newExtension() trans.Extension { return extension{gonet.NewGonetExtension()} }

// NewWriteByteBuffer gives the connection's buffer of what goes out.
func (extension) NewWriteByteBuffer(_ context.Context, conn net.Conn,
	_ remote.Message) remote.ByteBuffer {
	return conn.(interface{ out() *writer }).out()
}

const (
	// firstChunk is how much is taken at least for what is copied.
	firstChunk = 4096
	// copiedBelow is the length from which bytes that stay as they are until Flush are sent from
	// where they are.
	copiedBelow = 4096
)

var errMisplaced = errors.New("kitex: bytes within what was not allocated last")

// writer gathers a message of Kitex: what Malloc hands out, and the program's own bytes in between.
type writer struct {
	remote.ByteBuffer // nil: nothing is read from it
	to                net.Conn
	sent              func() // nil if nobody asks

	done   net.Buffers // in order
	left   net.Buffers // of done, while it is sent
	open   []byte      // handed out, behind all that is done
	room   []byte      // of the chunk that open lies in, behind it
	chunks [][]byte
	length int
}

var _ remote.NocopyWrite = (*writer)(nil)

// Malloc gives n bytes to be filled before Flush.
func (w *writer) Malloc(n int) ([]byte, error) {
	if n < 0 {
		return nil, errMisplaced
	}
	if n > len(w.room) {
		w.closeOpen()
		chunk := mcache.Malloc(max(n, firstChunk))
		w.chunks = append(w.chunks, chunk)
		w.open, w.room = chunk[:0], chunk
	}
	given := w.room[:n:n]
	w.open, w.room = w.open[:len(w.open)+n], w.room[n:]
	w.length += n
	return given, nil
}

// closeOpen has what comes next lie elsewhere.
func (w *writer) closeOpen() {
	if len(w.open) > 0 {
		w.done = append(w.done, w.open)
	}
	w.open, w.room = nil, nil
}

// WriteDirect puts bytes, which stay as they are until Flush, before the last rest bytes of what
// Malloc has handed out.
func (w *writer) WriteDirect(bytes []byte, rest int) error {
	at := len(w.open) - rest
	if at < 0 || rest < 0 {
		return errMisplaced
	}
	if at > 0 {
		w.done = append(w.done, w.open[:at])
	}
	w.done = append(w.done, bytes)
	w.open = w.open[at:]
	w.length += len(bytes)
	return nil
}

// MallocAck cuts off what was handed out and not filled, so that n bytes were written in all.
func (w *writer) MallocAck(n int) error {
	unused := w.length - n
	if unused < 0 || unused > len(w.open) {
		return errMisplaced
	}
	w.open = w.open[:len(w.open)-unused]
	w.room, w.length = nil, n // What is cut off may be another caller's already.
	return nil
}

// WriteBinary writes bytes, which stay as they are until Flush.
func (w *writer) WriteBinary(bytes []byte) (int, error) {
	if len(bytes) >= copiedBelow {
		w.closeOpen()
		w.done = append(w.done, bytes)
		w.length += len(bytes)
		return len(bytes), nil
	}
	return w.Write(bytes)
}

// Write writes a copy of bytes.
func (w *writer) Write(bytes []byte) (int, error) {
	to, err := w.Malloc(len(bytes))
	return copy(to, bytes), err
}

// WriteString writes a string.
func (w *writer) WriteString(text string) (int, error) {
	to, err := w.Malloc(len(text))
	return copy(to, text), err
}

// WrittenLen is how many bytes were written since Flush.
func (w *writer) WrittenLen() int { return w.length }

// Flush sends what was written.
func (w *writer) Flush() error {
	w.closeOpen()
	w.left = w.done
	err := send(w.to, &w.left)
	if w.sent != nil {
		w.sent()
	}
	w.reset()
	return err
}

// send sends buffers together, where the connection can.
func send(conn net.Conn, buffers *net.Buffers) (err error) {
	if to, gathers := conn.(io.ReaderFrom); gathers {
		_, err = to.ReadFrom(buffers)
	} else {
		_, err = buffers.WriteTo(conn)
	}
	return err
}

// reset drops what was written.
func (w *writer) reset() {
	clear(w.done)
	w.done, w.left, w.open, w.room, w.length = w.done[:0], nil, nil, nil, 0
	for i, chunk := range w.chunks {
		mcache.Free(chunk)
		w.chunks[i] = nil
	}
	w.chunks = w.chunks[:0]
}

// Release drops what was not sent.
func (w *writer) Release(error) error {
	w.reset()
	return nil
}

// buffers are those of a connection, as gonet's handlers and the extension ask for them.
type buffers struct {
	reader *bufiox.DefaultReader
	writer writer
}

// Reader is the buffer of what came.
func (b *buffers) Reader() *bufiox.DefaultReader { return b.reader }

// Writer is none: what goes out is in a buffer of this package's.
func (b *buffers) Writer() *bufiox.DefaultWriter { return nil }

func (b *buffers) out() *writer { return &b.writer }
