// Package rpc serves and calls the services that `breezeway gen --lang go` makes from Thrift IDL,
// as docs/services.md describes. The peer may be written in Go or in Rust (breezeway-rpc), or be
// Kitex with go/breezewaykitex.
//
//	client := rpc.NewClient("shm:/run/users.sock")
//	age, err := users.NewUsersClient(client).Age(ctx, "Ada")
//
//	var server rpc.Server
//	users.RegisterUsers(&server, table)
//	err := server.Listen("shm:/run/users.sock")
//	err = server.Serve()
package rpc

import (
	"errors"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/internal/wire"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// A Method is a method of a service.
type Method struct {
	name string // Service.method
	tag  uint32
}

// NewMethod returns a method by the names in the IDL.
func NewMethod(service, method string) Method {
	return Method{name: service + "." + method, tag: wire.Tag(service, method)}
}

// String returns the name of the service, a dot and the name of the method.
func (m Method) String() string { return m.name }

// A Result is what a method returns or throws.
type Result interface {
	thrift.Struct
	// Err returns the exception, or an error if the value is missing too.
	Err() error
	// SetErr sets the exception that err is or wraps. It returns false if the method declares none
	// such.
	SetErr(err error) bool
}

// inPlace is the length from which a struct is written where its message is sent from. Shorter ones
// are written to scratch memory, and copied.
const inPlace = 4 << 10

var scratch = sync.Pool{New: func() any { return new([inPlace]byte) }}

// errChanged is returned for a value that another goroutine changes while it is sent.
var errChanged = errors.New("rpc: the value has changed while it was written")

// fill returns a function that writes a value to the memory of its message.
func fill(value thrift.Struct) func(space []byte) error {
	return func(space []byte) error {
		if value.FastWrite(space) != len(space) {
			return errChanged
		}
		return nil
	}
}
