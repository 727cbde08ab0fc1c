// Package thrift is the runtime of the structs that `breezeway gen --lang go` makes from Thrift
// IDL. They are written and read in Thrift Binary (docs/thrift.md, docs/idl-go.md).
package thrift

import (
	"errors"
	"sync"
)

// A Struct is a pointer to a generated struct, union or exception.
type Struct interface {
	// BLength returns the number of bytes that FastWrite writes.
	BLength() int
	// FastWrite writes the struct to buf, which has room for BLength bytes, and returns the number
	// of bytes written. A nil pointer is written as an empty struct.
	FastWrite(buf []byte) int
	// FastRead reads the struct from the beginning of buf and returns the number of bytes read. The
	// struct keeps nothing of buf. Fields that are absent have their defaults afterwards.
	FastRead(buf []byte) (int, error)
	// InitDefault gives each field its default.
	InitDefault()
	// ReadFields reads fields until the end of the struct, which has its defaults.
	ReadFields(r *Reader)
}

// Marshal returns the bytes of a struct.
func Marshal(value Struct) []byte {
	buf := make([]byte, value.BLength())
	return buf[:value.FastWrite(buf)]
}

// Unmarshal reads a struct that is all of message. The message belongs to the struct from now on:
// strings and binaries of the struct are parts of it, and keep all of it in memory.
func Unmarshal(message []byte, value Struct) error {
	r := readers.Get().(*Reader)
	*r = NewReader(message)
	r.owned = true
	value.InitDefault()
	value.ReadFields(r)
	err := r.EndAll()
	r.buf = nil
	readers.Put(r)
	return err
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// Errors of bytes that are not the struct they should be.
var (
	ErrTruncated = errors.New("thrift: the message ends within the struct")
	ErrDepth     = errors.New("thrift: structs and containers are nested more than 64 deep")
	ErrMemory    = errors.New("thrift: the containers need more than 256 MiB of memory")
	ErrSize      = errors.New("thrift: a container has more elements than there are bytes")
	ErrElement   = errors.New("thrift: a container has elements of another type")
	ErrType      = errors.New("thrift: a field has an unknown type")
)

// A MissingFieldError is returned for a message without a required field.
type MissingFieldError struct {
	// Field is the name of the struct, a dot and the name of the field, as in the IDL.
	Field string
}

// Error returns a sentence with the name of the field.
func (e *MissingFieldError) Error() string {
	return "thrift: the required field " + e.Field + " is missing"
}
