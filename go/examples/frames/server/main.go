// Command server adds up tensors where their sender has written them, in pieces of 64 KiB.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"sync/atomic"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

const (
	push   = 0
	count  = 1
	header = 64
)

var read atomic.Uint64

func serve(_ context.Context, call *breezeway.Call) error {
	switch call.Method() {
	case push:
	case count:
		return call.Reply(binary.LittleEndian.AppendUint64(nil, read.Load()))
	default:
		return call.Fail(breezeway.CodeNoSuchMethod, "there are push and count")
	}
	tensor, head := call.Request(), make([]byte, header)
	if _, err := tensor.ReadAt(head, 0); err != nil {
		return err
	}
	shape := make([]uint64, min(binary.LittleEndian.Uint64(head), 7))
	for i := range shape {
		shape[i] = binary.LittleEndian.Uint64(head[8*(i+1):])
	}
	sum, piece := 0.0, make([]byte, 64<<10)
	for at := int64(header); ; at += int64(len(piece)) {
		n, err := tensor.ReadAt(piece, at)
		for i := 0; i+4 <= n; i += 4 {
			sum += float64(math.Float32frombits(binary.LittleEndian.Uint32(piece[i:])))
		}
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	fmt.Printf("shape %v, sum %v\n", shape, sum)
	read.Add(1)
	return call.Reply(nil)
}

func main() {
	address := "shm:/tmp/frames.sock"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	server, err := breezeway.Listen(address, serve)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", server.Addresses())
	log.Fatal(server.Serve())
}
