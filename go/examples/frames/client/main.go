// Command client sends tensors of 8 MiB, with their shapes, from the memory that the peer reads.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"os"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

const (
	push   = 0
	count  = 1
	header = 64
	tensor = header + 4*2*1024*1024
)

func main() {
	address := "shm:/tmp/frames.sock"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	ctx := context.Background()
	session, err := breezeway.Dial(ctx, address, breezeway.WithPrefault(tensor))
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	row := make([]byte, 0, 4*1024)
	for step := range 5 {
		message, err := session.Reserve(ctx, tensor)
		if err != nil {
			log.Fatal(err)
		}
		head := make([]byte, 0, header)
		for _, field := range []uint64{3, 2, 1024, 1024} {
			head = binary.LittleEndian.AppendUint64(head, field)
		}
		if _, err := message.Write(head[:header]); err != nil {
			log.Fatal(err)
		}
		for row = row[:0]; len(row) < cap(row); {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(float32(step+1)))
		}
		for message.Written() < tensor {
			if _, err := message.Write(row); err != nil {
				log.Fatal(err)
			}
		}
		done, err := session.CallReserved(ctx, push, message)
		if err != nil {
			log.Fatal(err)
		}
		done.Release()
	}
	reply, err := session.Call(ctx, count, nil)
	if err != nil {
		log.Fatal(err)
	}
	if reply.Len() != 8 {
		log.Fatal("a count has eight bytes")
	}
	fmt.Println("the server has read", binary.LittleEndian.Uint64(reply.Bytes()), "tensors")
}
