// Package segment creates, validates and maps segments (docs/abi.md, section 3): memfds with one
// writing process, sealed so that no process, their owner included, can shrink them, punch holes
// into them or write them through another mapping.
//
// It is the only package of this module that imports unsafe: here, and in receiver.go for one
// system call. Other packages access mapped memory by the methods of Mapping, each of which checks
// the range that it touches.
//
// # Why this is sound
//
//   - Inside: every method checks its offset against the size of the mapping, which this process
//     chose (own segments) or checked with fstat on a file that can no longer shrink (the peer's).
//   - Mapped: a Mapping is unmapped when its last holder drops it, and holders are counted
//     explicitly. No finalizer unmaps anything. An unmapped Mapping has size 0, so that a wrong
//     call panics instead of touching memory that may be at the same address now.
//   - Backed: SIGBUS would come from a page without a backing. The seals forbid shrinking, and
//     F_SEAL_FUTURE_WRITE (or F_SEAL_WRITE) forbids punching holes; Accept checks that every page
//     is allocated after it has seen the seals, on tmpfs, whose pages are never taken back.
//   - Words: control words and entries are loaded and stored by sync/atomic. The entry's body is
//     stored plainly before the sequence, which is stored atomically, as the ABI page requires. All
//     accesses to words are aligned: offsets are multiples of 8 and mappings begin at pages.
//   - Assembly: storeReleased of amd64 is one plain store, which that processor never makes
//     visible before earlier stores. The compiler moves nothing across a call of a function that
//     it does not know. sync/atomic has no store without a fence.
//   - Bytes: this module reads payload of the peer only by copy, into memory of this process, and
//     validates it there. The peer may write it at the same time. In Go that is not undefined
//     behaviour: a racy read of bytes yields some bytes, no value derived from them is a pointer or
//     a length before it was copied, and memmove reads no byte outside its range, whatever it
//     reads.
//   - Slices: Pin returns a slice of the peer's memory to a caller that has declared its trust that
//     the peer does not write it at the same time. Its mapping is never unmapped, so that the slice
//     never refers to unmapped memory.
//   - Structs: At returns words of the statistics file, which is never unmapped, in memory that
//     other processes only read.
//   - Space: Own returns a slice of an own segment to a caller that holds the mapping while it uses
//     the slice. The peer cannot write there.
//   - The race detector sees heap and globals only; mappings are neither, and both ends of a
//     session in one process use mappings of their own.
package segment

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A Mapping is a mapped segment. It begins with one holder.
type Mapping struct {
	base     unsafe.Pointer
	size     int
	writable bool
	holders  atomic.Int64
	pinned   atomic.Bool
	memory   []byte
}

func newMapping(memory []byte, writable bool) *Mapping {
	m := &Mapping{base: unsafe.Pointer(&memory[0]), size: len(memory), memory: memory}
	m.writable = writable
	m.holders.Store(1)
	return m
}

// Size returns the size in bytes.
func (m *Mapping) Size() int { return m.size }

// Holders returns the number of holders of the mapping.
func (m *Mapping) Holders() int { return int(m.holders.Load()) }

// Hold adds a holder. The caller is a holder, or holds a lock that keeps one from dropping the
// mapping.
func (m *Mapping) Hold() { m.holders.Add(1) }

// Drop removes a holder. The last one unmaps the mapping, unless a slice of it was handed out.
func (m *Mapping) Drop() {
	if m.holders.Add(-1) > 0 || m.pinned.Load() {
		return
	}
	memory := m.memory
	m.base, m.size, m.memory = nil, 0, nil
	if err := unix.Munmap(memory); err != nil {
		panic(fmt.Sprintf("munmap of a mapping of ours: %v", err))
	}
}

func (m *Mapping) check(at, length int) {
	if at < 0 || length < 0 || at > m.size-length {
		panic("access outside a segment")
	}
}

func (m *Mapping) word(at int) *uint64 {
	m.check(at, 8)
	if at%8 != 0 {
		panic("a word that is not aligned")
	}
	// The word is inside the mapping, aligned, and mapped as long as the caller holds the mapping.
	return (*uint64)(unsafe.Add(m.base, at))
}

// Load loads a word. It is at least an acquire.
func (m *Mapping) Load(at int) uint64 { return atomic.LoadUint64(m.word(at)) }

// Store stores a word of an own segment, sequentially consistent: what this process loads
// afterwards is loaded after the store, which covers the fences of section 5.
func (m *Mapping) Store(at int, value uint64) {
	m.mustWrite()
	atomic.StoreUint64(m.word(at), value)
}

// Set stores a word of an own segment plainly: before a sequentially consistent store that precedes
// the next load. Callers exclude each other by a lock.
func (m *Mapping) Set(at int, value uint64) {
	m.mustWrite()
	*m.word(at) = value
}

// Flip flips bits of a word of an own segment, sequentially consistent.
func (m *Mapping) Flip(at int, bits uint64) {
	m.mustWrite()
	for word := m.word(at); ; {
		old := atomic.LoadUint64(word)
		if atomic.CompareAndSwapUint64(word, old, old^bits) {
			return
		}
	}
}

func (m *Mapping) mustWrite() {
	if !m.writable {
		panic("a store to the peer's segment")
	}
}

func (m *Mapping) slot(at int) *proto.Words {
	m.check(at, proto.EntrySize)
	return (*proto.Words)(unsafe.Pointer(m.word(at)))
}

// Publish writes an entry and then its sequence, sequentially consistent.
func (m *Mapping) Publish(at int, head *proto.Head, body []byte, sequence uint64) {
	slot := m.pack(at, head, body)
	atomic.StoreUint64(&slot[0], sequence)
}

// PublishUnfenced writes an entry and then its sequence, which is only released: later loads of
// this process may be performed before the store.
func (m *Mapping) PublishUnfenced(at int, head *proto.Head, body []byte, sequence uint64) {
	slot := m.pack(at, head, body)
	storeReleased(&slot[0], sequence)
}

func (m *Mapping) pack(at int, head *proto.Head, body []byte) *proto.Words {
	m.mustWrite()
	slot := m.slot(at)
	// Plain stores: no goroutine of this process reads the entry, and the peer reads it after the
	// sequence.
	slot.Pack(head, 0, body)
	return slot
}

// Take copies a committed entry, each word by one atomic load.
func (m *Mapping) Take(at int, entry *proto.Entry) error {
	slot := m.slot(at)
	err := entry.Unpack(atomic.LoadUint64(&slot[1]), atomic.LoadUint64(&slot[2]))
	if err != nil {
		return err
	}
	body := entry.Body
	binary.LittleEndian.PutUint64(body[0:], atomic.LoadUint64(&slot[3]))
	binary.LittleEndian.PutUint64(body[8:], atomic.LoadUint64(&slot[4]))
	binary.LittleEndian.PutUint64(body[16:], atomic.LoadUint64(&slot[5]))
	binary.LittleEndian.PutUint64(body[24:], atomic.LoadUint64(&slot[6]))
	binary.LittleEndian.PutUint64(body[32:], atomic.LoadUint64(&slot[7]))
	if entry.Len > proto.FirstLine {
		binary.LittleEndian.PutUint64(body[40:], atomic.LoadUint64(&slot[8]))
		binary.LittleEndian.PutUint64(body[48:], atomic.LoadUint64(&slot[9]))
		binary.LittleEndian.PutUint64(body[56:], atomic.LoadUint64(&slot[10]))
		binary.LittleEndian.PutUint64(body[64:], atomic.LoadUint64(&slot[11]))
		binary.LittleEndian.PutUint64(body[72:], atomic.LoadUint64(&slot[12]))
		binary.LittleEndian.PutUint64(body[80:], atomic.LoadUint64(&slot[13]))
		binary.LittleEndian.PutUint64(body[88:], atomic.LoadUint64(&slot[14]))
		binary.LittleEndian.PutUint64(body[96:], atomic.LoadUint64(&slot[15]))
	}
	return nil
}

// At returns words of an own segment as a struct, which has no pointers. The caller holds the
// mapping for as long as it uses the struct.
func At[T any](m *Mapping, at int) *T {
	m.mustWrite()
	m.check(at, int(unsafe.Sizeof(*new(T))))
	if at%8 != 0 {
		panic("segment: words that are not aligned")
	}
	return (*T)(unsafe.Add(m.base, at))
}

// Address returns the address of the mapping in this process, for tools that read its memory.
func (m *Mapping) Address() uint64 { return uint64(uintptr(m.base)) }

func (m *Mapping) bytes(at, length int) []byte {
	m.check(at, length)
	return unsafe.Slice((*byte)(unsafe.Add(m.base, at)), length)
}

// CopyOut copies from the mapping into private memory, while the peer may write.
func (m *Mapping) CopyOut(to []byte, at int) { move(to, m.bytes(at, len(to))) }

// CopyIn copies private memory into an own segment. The peer can read it immediately.
func (m *Mapping) CopyIn(at int, from []byte) {
	m.mustWrite()
	move(m.bytes(at, len(from)), from)
}

// Own returns a slice of an own segment. The caller holds the mapping for as long as it uses the
// slice. The peer can read at once what is written there.
func (m *Mapping) Own(at, length int) []byte {
	m.mustWrite()
	return m.bytes(at, length)[:length:length]
}

// CopyAcross copies from the peer's segment into an own one.
func (m *Mapping) CopyAcross(at int, from *Mapping, fromAt, length int) {
	m.mustWrite()
	move(m.bytes(at, length), from.bytes(fromAt, length))
}

// moved is the number of bytes to copy at once. The runtime copies 1 MiB and more past the caches,
// and the peer then does not find the bytes there.
const moved = 256 << 10

func move(to, from []byte) {
	for len(from) > moved {
		copy(to, from[:moved])
		to, from = to[moved:], from[moved:]
	}
	copy(to, from)
}

// pinned counts the bytes of mappings that are never unmapped.
var pinned struct {
	mu    sync.Mutex
	bytes uint64
}

// Pinned returns the number of bytes of mappings that are never unmapped.
func Pinned() uint64 {
	pinned.mu.Lock()
	defer pinned.mu.Unlock()
	return pinned.bytes
}

// Pin returns a slice of the mapping, which is never unmapped from now on. It returns false if such
// mappings would take more than limit bytes.
func (m *Mapping) Pin(at, length int, limit uint64) ([]byte, bool) {
	pinned.mu.Lock()
	defer pinned.mu.Unlock()
	if !m.pinned.Load() {
		if size := uint64(m.size); size > limit || pinned.bytes > limit-size {
			return nil, false
		}
		pinned.bytes += uint64(m.size)
		m.pinned.Store(true)
	}
	slice := m.bytes(at, length)
	return slice[:length:length], true
}
