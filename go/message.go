package breezeway

import (
	"encoding/binary"
	"io"
	"runtime"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// A Message is what was received: a private copy of up to 104 bytes, else, in shared memory, a
// lease of the sender's memory, which the sender does not write again before the message is
// released, if it keeps to the rules. Therefore its bytes are copied out, and judged afterwards,
// but for those of a peer that is trusted: see Slice.
//
// Release gives the memory back; a message that was forgotten is released by the garbage collector,
// late, unless Slice was asked of it. Any number may be kept, in any order, past the session's end;
// meanwhile the sender can send no more than the session's cap allows. Copies of a Message are the
// same message.
type Message struct {
	length      int
	start       int // of what is lent or private
	metadata    []byte
	hasMetadata bool
	private     []byte
	lent        *lent
	generation  uint64
	inline      [proto.InlineMax]byte
}

// A Reply is the message that answers a call.
type Reply = Message

// lent is a lease that copies of a message share. It is used again, under another generation.
type lent struct {
	mu         sync.RWMutex
	lease      shm.Lease
	generation uint64
	live       bool
	// sliced is set while a slice of it may be in use, of which the collector knows nothing.
	sliced bool
	// trusted is the session's option TrustPeer.
	trusted uint64
}

var lentPool = sync.Pool{New: func() any {
	l := new(lent)
	// Nobody can reach the message any more, so nobody reads what is lent, but by a slice.
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

// end ends the lease; false if it was ended before.
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

// Len is its length in bytes.
func (m *Message) Len() int { return m.length }

// IsLent says whether it holds memory of the sender.
func (m *Message) IsLent() bool { return m.lent != nil }

// Metadata is a private copy of the metadata block that came with it; false if none did.
func (m *Message) Metadata() ([]byte, bool) { return m.metadata, m.hasMetadata }

// Release gives back what it holds. Afterwards a lent message cannot be read; releasing it again
// does nothing.
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

// ReadAt copies bytes out, as io.ReaderAt says.
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

// AppendTo appends a copy of its bytes.
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

// Bytes is a copy of its bytes; nil once it was released.
func (m *Message) Bytes() []byte {
	bytes, err := m.AppendTo(make([]byte, 0, m.length))
	if err != nil {
		return nil
	}
	return bytes
}

// Slice is its bytes; of a lent message without a copy, if the session has the option TrustPeer:
// until Release, the sender's own memory, which is not to be written. Afterwards the sender may
// write it again; it stays mapped. From Slice on only Release gives the memory back, and not the
// garbage collector, which does not see who uses the slice. A message that is not lent, as all on
// unix and tcp, is copied. Metadata is not part of it.
func (m *Message) Slice() ([]byte, error) {
	if m.lent == nil {
		return m.Bytes(), nil // What is private needs no trust.
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

// WriteTo writes its bytes to w, in pieces of up to 16 KiB, as io.WriterTo says.
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

// prefix is the first 8 bytes of what came, or as many as it has.
func (m *Message) prefix() uint64 {
	var bytes [8]byte
	_ = m.copyOut(bytes[:min(m.length, len(bytes))], 0) // It was not released.
	return binary.LittleEndian.Uint64(bytes[:])
}

// splitMetadata takes a block of so many bytes from the front of what came (section 4.3).
func (m *Message) splitMetadata(length int) {
	m.metadata, m.hasMetadata = make([]byte, length), true
	_ = m.copyOut(m.metadata, proto.MetadataPrefix) // It was not released.
	m.start += proto.MetadataPrefix + length
	m.length -= proto.MetadataPrefix + length
}
