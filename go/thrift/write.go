package thrift

import (
	"encoding/binary"
	"math"
)

// The functions Put… write to the beginning of a slice that has room for the value, and return the
// number of bytes written.

// PutHead writes the type and the number of a field, as type << 16 | number.
func PutHead(b []byte, head uint32) int {
	_ = b[2]
	b[0], b[1], b[2] = byte(head>>16), byte(head>>8), byte(head)
	return 3
}

// PutBool writes a bool.
func PutBool(b []byte, v bool) int {
	if v {
		b[0] = 1
	} else {
		b[0] = 0
	}
	return 1
}

// PutI8 writes an i8.
func PutI8(b []byte, v int8) int {
	b[0] = byte(v)
	return 1
}

// PutI16 writes an i16.
func PutI16(b []byte, v int16) int {
	binary.BigEndian.PutUint16(b, uint16(v))
	return 2
}

// PutI32 writes an i32.
func PutI32(b []byte, v int32) int {
	binary.BigEndian.PutUint32(b, uint32(v))
	return 4
}

// PutI64 writes an i64.
func PutI64(b []byte, v int64) int {
	binary.BigEndian.PutUint64(b, uint64(v))
	return 8
}

// PutDouble writes a double.
func PutDouble(b []byte, v float64) int {
	binary.BigEndian.PutUint64(b, math.Float64bits(v))
	return 8
}

// PutUUID writes a uuid.
func PutUUID(b []byte, v UUID) int {
	*(*UUID)(b) = v
	return len(v)
}

// PutString writes a string.
func PutString(b []byte, v string) int {
	binary.BigEndian.PutUint32(b, uint32(len(v)))
	return 4 + copy(b[4:], v)
}

// PutBytes writes a binary.
func PutBytes(b []byte, v []byte) int {
	binary.BigEndian.PutUint32(b, uint32(len(v)))
	return 4 + copy(b[4:], v)
}

// PutList writes the head of a list or set of n elements.
func PutList(b []byte, element byte, n int) int {
	b[0] = element
	binary.BigEndian.PutUint32(b[1:], uint32(n))
	return 5
}

// PutMap writes the head of a map of n pairs.
func PutMap(b []byte, key, value byte, n int) int {
	b[0], b[1] = key, value
	binary.BigEndian.PutUint32(b[2:], uint32(n))
	return 6
}

// The functions Get… return the value at the beginning of a slice.

// GetHead returns the type and the number of a field, as [Reader.Head] does. A byte follows them.
func GetHead(b []byte) uint32 { return binary.BigEndian.Uint32(b) >> 8 }

// GetBool returns a bool.
func GetBool(b []byte) bool { return b[0] != 0 }

// GetI8 returns an i8.
func GetI8(b []byte) int8 { return int8(b[0]) }

// GetI16 returns an i16.
func GetI16(b []byte) int16 { return int16(binary.BigEndian.Uint16(b)) }

// GetI32 returns an i32.
func GetI32(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }

// GetI64 returns an i64.
func GetI64(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

// GetDouble returns a double.
func GetDouble(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }

// GetUUID returns a uuid.
func GetUUID(b []byte) UUID { return UUID(b[:16]) }
