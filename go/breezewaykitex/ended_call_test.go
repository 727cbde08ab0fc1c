package breezewaykitex

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/gopkg/protocol/thrift"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// watchedValue is a struct of the length from which structs are written in place.
type watchedValue struct{ written bool }

func (*watchedValue) BLength() int                 { return inPlace }
func (*watchedValue) FastRead([]byte) (int, error) { return 0, nil }
func (*watchedValue) FastWrite(space []byte) int   { return len(space) }
func (v *watchedValue) FastWriteNocopy(space []byte, _ thrift.NocopyWriter) int {
	v.written = true
	return len(space)
}

func TestRequestOfEndedCallIsNotEncoded(t *testing.T) {
	server, err := breezeway.Listen("shm:"+t.TempDir()+"/s",
		func(_ context.Context, call *breezeway.Call) error { return call.Echo() })
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	defer func() {
		_ = server.Close()
		<-served
	}()
	client := breezeway.NewClient(server.Addresses()[0].String())
	defer client.Close()
	if _, err := client.Call(context.Background(), 0, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	value := new(watchedValue)
	call := clientCall{session: &session{Client: client}}
	if call.body, err = encodeBody(ctx, nil, value); err != nil || !call.body.isInPlace() {
		t.Fatalf("the value is not written in place: %v", err)
	}
	cancel() // The caller leaves between Write and Read.
	if _, err := call.make(ctx); !errors.Is(err, context.Canceled) || value.written {
		t.Errorf("the call ends with %v; its request was encoded: %v", err, value.written)
	}
}
