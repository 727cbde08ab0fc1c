package thrift

import (
	"errors"
	"math"
)

// ErrLong is returned for a message with a struct that a view has no offsets for.
var ErrLong = errors.New("thrift: a struct of more than 4 GiB has no view")

// A ListView reads a list or set in place. Its elements of types without a fixed size are views
// too, or parts of the message. The zero value is empty.
type ListView[T any] struct {
	b    []byte // begins with the head of the list
	next func(b []byte) (T, int)
}

// A MapView reads a map in place, as a ListView does a list. The zero value is empty.
type MapView[K, V any] struct {
	b     []byte // begins with the head of the map
	key   func(b []byte) (K, int)
	value func(b []byte) (V, int)
}

// NewListView returns the view of the valid list at the beginning of b, for generated code. Next
// returns the element at the beginning of its argument, and its length.
func NewListView[T any](b []byte, next func(b []byte) (T, int)) ListView[T] {
	return ListView[T]{b, next}
}

// NewMapView returns the view of the valid map at the beginning of b, for generated code.
func NewMapView[K, V any](b []byte, key func(b []byte) (K, int),
	value func(b []byte) (V, int)) MapView[K, V] {
	return MapView[K, V]{b, key, value}
}

// Len returns the number of elements.
func (l ListView[T]) Len() int {
	if l.b == nil {
		return 0
	}
	return int(GetI32(l.b[1:]))
}

// All returns an iterator over the elements in the order of the message, an iter.Seq[T].
func (l ListView[T]) All() func(yield func(T) bool) {
	return func(yield func(T) bool) {
		for n, at := l.Len(), 5; n > 0; n-- {
			element, size := l.next(l.b[at:])
			if !yield(element) {
				return
			}
			at += size
		}
	}
}

// Len returns the number of pairs.
func (m MapView[K, V]) Len() int {
	if m.b == nil {
		return 0
	}
	return int(GetI32(m.b[2:]))
}

// All returns an iterator over the pairs in the order of the message, an iter.Seq2[K, V]. A key
// that the message repeats comes each time; its last value counts.
func (m MapView[K, V]) All() func(yield func(K, V) bool) {
	return func(yield func(K, V) bool) {
		for n, at := m.Len(), 6; n > 0; n-- {
			key, size := m.key(m.b[at:])
			at += size
			value, size := m.value(m.b[at:])
			if !yield(key, value) {
				return
			}
			at += size
		}
	}
}

// GetString returns the string at the beginning of b, which is a part of b.
func GetString(b []byte) string { return text(GetBinary(b)) }

// GetBinary returns the binary at the beginning of b, which is a part of b.
func GetBinary(b []byte) []byte {
	n := 4 + int(GetI32(b))
	return b[4:n:n]
}

// The functions Next… return the valid value at the beginning of b, and its length.

// NextBool returns a bool.
func NextBool(b []byte) (bool, int) { return GetBool(b), 1 }

// NextI8 returns an i8.
func NextI8(b []byte) (int8, int) { return GetI8(b), 1 }

// NextI16 returns an i16.
func NextI16(b []byte) (int16, int) { return GetI16(b), 2 }

// NextI32 returns an i32 or a value of an enum.
func NextI32[T ~int32](b []byte) (T, int) { return T(GetI32(b)), 4 }

// NextI64 returns an i64.
func NextI64(b []byte) (int64, int) { return GetI64(b), 8 }

// NextDouble returns a double.
func NextDouble(b []byte) (float64, int) { return GetDouble(b), 8 }

// NextUUID returns a uuid.
func NextUUID(b []byte) (UUID, int) { return UUID(b), 16 }

// NextString returns a string, which is a part of b.
func NextString(b []byte) (string, int) {
	v := GetString(b)
	return v, 4 + len(v)
}

// NextBinary returns a binary, which is a part of b.
func NextBinary(b []byte) ([]byte, int) {
	v := GetBinary(b)
	return v, 4 + len(v)
}

// NextList returns the view of a list or set.
func NextList[T any](b []byte, next func(b []byte) (T, int)) (ListView[T], int) {
	return ListView[T]{b, next}, length(typeList, b)
}

// NextMap returns the view of a map.
func NextMap[K, V any](b []byte, key func(b []byte) (K, int),
	value func(b []byte) (V, int)) (MapView[K, V], int) {
	return MapView[K, V]{b, key, value}, length(typeMap, b)
}

// length returns the length of the valid value at the beginning of b.
func length(kind byte, b []byte) int {
	r := Reader{buf: b}
	r.skip(kind, maxDepth)
	return r.at
}

// Offset returns the number of bytes that were read, for generated code, as all below.
func (r *Reader) Offset() int { return r.at }

// From returns the bytes that were read since an offset: those of a struct with a view. It returns
// nil after an error.
func (r *Reader) From(off int) []byte {
	if uint64(r.at-off) > math.MaxUint32 {
		r.fail(ErrLong)
	}
	if r.err != nil {
		return nil
	}
	return r.buf[off:r.at:r.at]
}

// Pass passes over n bytes, a value of fixed size.
func (r *Reader) Pass(n int) { r.take(n) }

// PassBinary passes over a string or a binary.
func (r *Reader) PassBinary() { r.counted() }

// PassFixed passes over a list or set with elements of a type of fixed size.
func (r *Reader) PassFixed(element byte, size int) {
	r.take(size * r.List(element, size))
	r.EndList()
}
