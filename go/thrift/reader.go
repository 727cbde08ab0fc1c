package thrift

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// maxDepth is the number of structs and containers that may lie inside each other.
const maxDepth = 64

// maxMemory is the memory that the containers of a message may need, in bytes.
const maxMemory = 256 << 20

// A Reader reads a message for generated code. After an error its methods return zero values, and
// Head returns the end of the struct. Sizes in the message are compared with the bytes left before
// memory is allocated.
type Reader struct {
	buf    []byte
	at     int
	depth  int
	memory int  // that further containers may need
	credit int  // of the memory that is allocated before elements were read
	owned  bool // strings and binaries are parts of buf
	err    error
}

// NewReader returns a reader of bytes, which copies strings and binaries.
func NewReader(buf []byte) Reader {
	return Reader{buf: buf, depth: maxDepth, memory: maxMemory, credit: 16 * len(buf)}
}

// OK returns true before the first error.
func (r *Reader) OK() bool { return r.err == nil }

// End returns the number of bytes that were read, and the first error.
func (r *Reader) End() (int, error) { return r.at, r.err }

// EndAll returns the first error. Bytes that are left are one.
func (r *Reader) EndAll() error {
	if r.err == nil && r.at < len(r.buf) {
		return fmt.Errorf("thrift: %d bytes behind the struct", len(r.buf)-r.at)
	}
	return r.err
}

// fail notes the first error. No bytes are left afterwards.
func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.buf, r.at = nil, 0
}

// Begin begins a struct or a container.
func (r *Reader) Begin() {
	if r.depth--; r.depth < 0 {
		r.fail(ErrDepth)
	}
}

// EndStruct ends a struct.
func (r *Reader) EndStruct() { r.depth++ }

// EndList ends a list, set or map.
func (r *Reader) EndList() { r.depth++ }

// Missing reports the first required field of a struct that has no bit in seen.
func (r *Reader) Missing(seen uint64, fields ...string) {
	r.fail(&MissingFieldError{fields[bits.TrailingZeros64(^seen)]})
}

// Head reads the type and the number of a field, as type << 16 | number. It returns 0 at the end of
// the struct and after an error.
func (r *Reader) Head() uint32 {
	at := r.at
	if len(r.buf)-at < 4 {
		return r.lastHead()
	}
	head := binary.BigEndian.Uint32(r.buf[at:]) >> 8
	if head < 1<<16 {
		r.at = at + 1
		return 0
	}
	r.at = at + 3
	return head
}

// lastHead reads the end of a struct. A field takes at least four bytes.
func (r *Reader) lastHead() uint32 {
	if r.at < len(r.buf) && r.buf[r.at] == 0 {
		r.at++
	} else {
		r.fail(ErrTruncated)
	}
	return 0
}

// Peek returns the next n bytes, or nil if there are fewer.
func (r *Reader) Peek(n int) []byte {
	if len(r.buf)-r.at < n {
		return nil
	}
	return r.buf[r.at : r.at+n]
}

// Advance passes over n bytes that Peek has returned.
func (r *Reader) Advance(n int) { r.at += n }

// take reads n bytes, or returns nil if there are fewer.
func (r *Reader) take(n int) []byte {
	if !r.has(n) {
		return nil
	}
	r.at += n
	return r.buf[r.at-n : r.at]
}

// has returns true if n bytes are left. Otherwise it fails.
func (r *Reader) has(n int) bool {
	if len(r.buf)-r.at >= n {
		return true
	}
	r.fail(ErrTruncated)
	return false
}

// Bool reads a bool.
func (r *Reader) Bool() bool { return r.I8() != 0 }

// I8 reads an i8.
func (r *Reader) I8() (v int8) {
	if r.has(1) {
		v = int8(r.buf[r.at])
		r.at++
	}
	return v
}

// I16 reads an i16.
func (r *Reader) I16() (v int16) {
	if r.has(2) {
		v = GetI16(r.buf[r.at:])
		r.at += 2
	}
	return v
}

// I32 reads an i32.
func (r *Reader) I32() (v int32) {
	if r.has(4) {
		v = GetI32(r.buf[r.at:])
		r.at += 4
	}
	return v
}

// I64 reads an i64.
func (r *Reader) I64() (v int64) {
	if r.has(8) {
		v = GetI64(r.buf[r.at:])
		r.at += 8
	}
	return v
}

// Double reads a double.
func (r *Reader) Double() float64 { return math.Float64frombits(uint64(r.I64())) }

// UUID reads a uuid.
func (r *Reader) UUID() (id UUID) {
	copy(id[:], r.take(len(id)))
	return id
}

// Text reads a string, which need not be UTF-8.
func (r *Reader) Text() string {
	b := r.counted()
	if r.owned {
		return text(b)
	}
	return string(b)
}

// text returns bytes as a string without a copy.
func text(b []byte) string {
	// SAFETY: b is part of a message that Unmarshal or the function of a view was given. By their
	// contracts it belongs to the struct or stays as it is while the view is used, so that its
	// bytes no longer change.
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Bytes reads a binary, which is not nil.
func (r *Reader) Bytes() []byte {
	b := r.counted()
	switch {
	case len(b) == 0:
		return []byte{}
	case r.owned:
		return b
	}
	return append([]byte(nil), b...)
}

// counted reads a length and as many bytes.
func (r *Reader) counted() []byte {
	n := int(r.I32())
	at := r.at
	if n < 0 || len(r.buf)-at < n {
		r.fail(ErrTruncated)
		return nil
	}
	r.at = at + n
	return r.buf[at : at+n : at+n]
}

// Room returns the number of a container's n elements to allocate memory for before any was read:
// one at least, and all of them while the message has credit. Containers inside each other can each
// announce an element for each byte left, so that memory for further elements is allocated only
// when as many were read.
func Room[T any](r *Reader, n int) int {
	var element struct {
		_ T
		_ uintptr // its pointer, or its place in a table
	}
	size := int(unsafe.Sizeof(element))
	if n > r.memory/size {
		r.fail(ErrMemory)
		return 0
	}
	r.memory -= n * size
	if n*size > r.credit {
		n = min(n, max(r.credit/size, 1))
	}
	r.credit = max(r.credit-n*size, 0)
	return n
}

// Structs returns the first places of a list of n structs, or list with further ones behind it: as
// many as it has. The structs of one call lie together in memory.
func Structs[T any](r *Reader, list []*T, n int) []*T {
	room := len(list)
	if room == 0 {
		room = Room[T](r, n)
		list = make([]*T, 0, room)
	}
	items := make([]T, min(n-len(list), room))
	for i := range items {
		list = append(list, &items[i])
	}
	return list
}

// List reads the head of a list or set with elements of a type, each of which takes at least so
// many bytes. It returns the number of elements. EndList ends the list.
func (r *Reader) List(element byte, least int) int {
	r.Begin()
	b := r.take(5)
	if b == nil {
		return 0
	}
	return r.count(b[1:], b[0] == element, least)
}

// Map reads the head of a map with keys and values of these types, a pair of which takes at least
// so many bytes. It returns the number of pairs. EndList ends the map.
func (r *Reader) Map(key, value byte, least int) int {
	r.Begin()
	b := r.take(6)
	if b == nil {
		return 0
	}
	return r.count(b[2:], b[0] == key && b[1] == value, least)
}

// count returns the number of elements of a container. An empty one may be of any type.
func (r *Reader) count(b []byte, isType bool, least int) int {
	n := int(GetI32(b))
	switch {
	case n == 0:
		return 0
	case !isType:
		r.fail(ErrElement)
		return 0
	case n < 0 || n > (len(r.buf)-r.at)/least:
		r.fail(ErrSize)
		return 0
	}
	return n
}
