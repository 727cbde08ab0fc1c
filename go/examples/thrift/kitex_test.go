package thrift_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/cloudwego/gopkg/protocol/thrift"

	breezeway "github.com/breezeway-ipc/breezeway/go"
	"github.com/breezeway-ipc/breezeway/go/kitex/kitex_gen/echo"
)

// The methods of the example's server.
const (
	apaches = 1
	kitexes = 2
)

func serveBoth(call *breezeway.Call) error {
	switch call.Method() {
	case apaches:
		return restock(call)
	case kitexes:
		return bounce(call)
	}
	return &breezeway.CallError{Code: breezeway.CodeNoSuchMethod}
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// direct takes large fields from where they are, as Kitex's generated code asks a NocopyWriter to:
// the rest of the struct is encoded into a private buffer around them.
type direct struct {
	into    *breezeway.Reservation
	encoded []byte
	written int
	err     error // Generated code asks for none.
}

// WriteDirect writes what was encoded before a field, with so much of the buffer left, and the
// field.
func (d *direct) WriteDirect(field []byte, left int) error {
	end := len(d.encoded) - left
	d.write(d.encoded[d.written:end])
	d.written = end
	d.write(field)
	return d.err
}

func (d *direct) write(bytes []byte) {
	if d.err == nil {
		_, d.err = d.into.Write(bytes)
	}
}

// writeKitex writes what Kitex's generator has generated into a message of BLength bytes.
func writeKitex(into *breezeway.Reservation, value thrift.FastCodec) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	if cap(*buffer) < into.Len() {
		*buffer = make([]byte, into.Len())
	}
	d := direct{into: into, encoded: (*buffer)[:into.Len()]}
	end := value.FastWriteNocopy(d.encoded, &d)
	d.write(d.encoded[d.written:end])
	return d.err
}

// readKitex reads it from a message, whose bytes are private before they are judged.
func readKitex(from *breezeway.Message, value thrift.FastCodec) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	bytes, err := from.AppendTo((*buffer)[:0])
	if err != nil {
		return err
	}
	*buffer = bytes
	_, err = value.FastRead(bytes)
	return err
}

// bounce gives back what it gets, by Kitex's code.
func bounce(call *breezeway.Call) error {
	args := echo.NewEchoEchoArgs()
	if err := readKitex(call.Request(), args); err != nil {
		return err
	}
	result := &echo.EchoEchoResult{Success: args.Body}
	reply, err := call.Reserve(result.BLength())
	if err != nil {
		return err
	}
	if err := writeKitex(reply, result); err != nil {
		reply.Abandon()
		return err
	}
	return call.ReplyReserved(reply)
}

// bounced calls it.
func bounced(conn *breezeway.Conn, sent []byte) ([]byte, error) {
	ctx, args := context.Background(), &echo.EchoEchoArgs{Body: sent}
	request, err := conn.Reserve(ctx, args.BLength())
	if err != nil {
		return nil, err
	}
	if err := writeKitex(request, args); err != nil {
		request.Abandon()
		return nil, err
	}
	reply, err := conn.CallReserved(ctx, kitexes, request)
	if err != nil {
		return nil, err
	}
	defer reply.Release()
	result := echo.NewEchoEchoResult()
	err = readKitex(&reply, result)
	return result.Success, err
}

func Example_kitex() {
	folder, err := os.MkdirTemp("", "thrift")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	address := "shm:" + filepath.Join(folder, "echo.sock")
	server, err := breezeway.Listen(address, serveBoth)
	if err != nil {
		panic(err)
	}
	go server.Serve()
	defer server.Close()
	conn, err := breezeway.Dial(context.Background(), address)
	if err != nil {
		panic(err)
	}
	defer conn.Close()

	sent := bytes.Repeat([]byte{7}, 100_000)
	back, err := bounced(conn, sent)
	if err != nil {
		panic(err)
	}
	fmt.Println(bytes.Equal(back, sent))
	// Output: true
}
