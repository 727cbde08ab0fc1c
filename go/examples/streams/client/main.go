// Command client sends numbers on a stream while it receives their sums.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

const sums = 0

func main() {
	address := "shm:/tmp/sums.sock"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	client, ctx := breezeway.NewClient(address), context.Background()
	defer client.Close()
	stream, err := client.Open(ctx, sums)
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	go func() {
		for number := range uint64(100) {
			if stream.Send(ctx, binary.LittleEndian.AppendUint64(nil, number+1)) != nil {
				return // The receiver below gets the reason.
			}
		}
		_ = stream.CloseSend()
	}()
	var last uint64
	for {
		sum, err := stream.Recv(ctx)
		if err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		if sum.Len() != 8 {
			log.Fatal("a sum has eight bytes")
		}
		last = binary.LittleEndian.Uint64(sum.Bytes())
		sum.Release()
	}
	fmt.Println("the sum of 100 numbers is", last)
}
