package breezeway

import (
	"encoding/binary"
	"io"
	"runtime"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// A Message is a received message. It is a private copy or, if it is longer than 104 bytes and came
// through shared memory, a lease of the sender's memory. The sender does not write to leased memory
// before the message is released, provided that it keeps the rules. Therefore bytes are copied out
// before they are validated, except for those of a trusted peer: see [Message.Slice].
//
// Release returns the memory to the sender. The garbage collector eventually releases a message
// that is unreachable, unless Slice was called. Messages may be kept in any number, past the
// session's end, and released in any order. Kept messages count against the sender's cap. Copies of
// a Message are the same message.
type Message struct {
	length      int
	start       int // within the lent or private bytes
	metadata    []byte
	hasMetadata bool
	private     []byte
	lent        *lent
	generation  uint64
	inline      [proto.InlineMax]byte
}

// A lent is a lease that copies of a message share. It is reused with another generation.
type lent struct {
	mu         sync.RWMutex
	lease      shm.Lease
	generation uint64
	live       bool
	// sliced is true while a slice may be in use, which the garbage collector does not track.
	sliced bool
	// trusted is the value of the session's option WithTrustedPeer.
	trusted uint64
}

var lentPool = sync.Pool{New: func() any {
	l := new(lent)
	// The message is unreachable, so that only a slice can still refer to the lent memory.
	runtime.SetFinalizer(l, func(l *lent) {
		if !l.sliced {
			l.end(l.generation)
		}
	})
	return l
}}

func (m *Message) lease(lease shm.Lease, trusted uint64) {
	l := lentPool.Get().(*lent)
	l.mu.Lock()
	l.lease, l.live, l.trusted = lease, true, trusted
	m.lent, m.generation, m.length = l, l.generation, lease.Len()
	l.mu.Unlock()
}

// end ends the lease. It returns false if the lease has ended before.
func (l *lent) end(generation uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.live || l.generation != generation {
		return false
	}
	l.lease.End()
	l.live, l.sliced = false, false
	l.generation++
	return true
}

func (l *lent) copyOut(generation uint64, to []byte, at int) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.live || l.generation != generation {
		return ErrReleased
	}
	l.lease.CopyOut(to, at)
	return nil
}

// Len returns the length in bytes.
func (m *Message) Len() int { return m.length }

// IsLent returns true if the message holds memory of the sender.
func (m *Message) IsLent() bool { return m.lent != nil }

// Metadata returns a private copy of the message's metadata block, or false if it has none.
func (m *Message) Metadata() ([]byte, bool) { return m.metadata, m.hasMetadata }

// Release returns the lent memory to the sender. A lent message cannot be read afterwards. Further
// calls have no effect.
func (m *Message) Release() {
	if m.lent != nil && m.lent.end(m.generation) {
		lentPool.Put(m.lent)
	}
}

func (m *Message) copyOut(to []byte, at int) error {
	switch {
	case m.lent != nil:
		return m.lent.copyOut(m.generation, to, m.start+at)
	case m.private != nil:
		copy(to, m.private[m.start+at:])
	default:
		copy(to, m.inline[m.start+at:m.start+m.length])
	}
	return nil
}

// ReadAt implements [io.ReaderAt]. It copies bytes out.
func (m *Message) ReadAt(to []byte, at int64) (int, error) {
	if at < 0 {
		return 0, errNegativeOffset
	}
	if at >= int64(m.length) {
		return 0, io.EOF
	}
	n := min(len(to), m.length-int(at))
	if err := m.copyOut(to[:n], int(at)); err != nil {
		return 0, err
	}
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}

// AppendTo appends a copy of the message's bytes to a slice and returns it.
func (m *Message) AppendTo(to []byte) ([]byte, error) {
	start := len(to)
	if cap(to)-start < m.length {
		grown := make([]byte, start, start+m.length)
		copy(grown, to)
		to = grown
	}
	to = to[:start+m.length]
	if err := m.copyOut(to[start:], 0); err != nil {
		return to[:start], err
	}
	return to, nil
}

// Bytes returns a copy of the message's bytes, or nil if the message was released.
func (m *Message) Bytes() []byte {
	bytes, err := m.AppendTo(make([]byte, 0, m.length))
	if err != nil {
		return nil
	}
	return bytes
}

// Slice returns the message's bytes without its metadata. With the option [WithTrustedPeer] the
// slice of a lent message is the sender's own memory; without it, Slice fails for lent messages. Do
// not write to the slice. After Release the sender may write to it again; it stays mapped. After a
// call of Slice only Release returns the memory to the sender, since the garbage collector does not
// track the slice. A message that is not lent, which includes all messages over sockets, is copied.
func (m *Message) Slice() ([]byte, error) {
	if m.lent == nil {
		return m.Bytes(), nil // Private bytes need no trust.
	}
	l := m.lent
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.live || l.generation != m.generation {
		return nil, ErrReleased
	}
	if l.trusted == 0 {
		return nil, ErrNotTrusted
	}
	slice, pinned := l.lease.Pin(m.start, m.length, l.trusted)
	if !pinned {
		return nil, ErrTooMuchPinned
	}
	l.sliced = true
	return slice, nil
}

var chunks = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// WriteTo implements [io.WriterTo]. It writes the message's bytes in pieces of up to 16 KiB.
func (m *Message) WriteTo(w io.Writer) (int64, error) {
	chunk := chunks.Get().(*[16 << 10]byte)
	defer chunks.Put(chunk)
	for at := 0; at < m.length; {
		piece := chunk[:min(len(chunk), m.length-at)]
		if err := m.copyOut(piece, at); err != nil {
			return int64(at), err
		}
		n, err := w.Write(piece)
		if at += n; err != nil {
			return int64(at), err
		}
	}
	return int64(m.length), nil
}

// prefix returns the first 8 bytes of the message, padded with zeros if it is shorter.
func (m *Message) prefix() uint64 {
	var bytes [8]byte
	_ = m.copyOut(bytes[:min(m.length, len(bytes))], 0) // The message was not released.
	return binary.LittleEndian.Uint64(bytes[:])
}

// splitMetadata moves a metadata block of length bytes out of the front of the message (section
// 4.3).
func (m *Message) splitMetadata(length int) {
	m.metadata, m.hasMetadata = make([]byte, length), true
	_ = m.copyOut(m.metadata, proto.MetadataPrefix) // The message was not released.
	m.start += proto.MetadataPrefix + length
	m.length -= proto.MetadataPrefix + length
}
