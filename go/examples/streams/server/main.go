// Command server answers a stream of numbers by a stream of their sums so far.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func sums(ctx context.Context, stream *breezeway.Stream) {
	var sum uint64
	for {
		number, err := stream.Recv(ctx)
		if err != nil { // io.EOF, or the client is gone.
			_ = stream.CloseSend()
			return
		}
		bytes := number.Bytes()
		number.Release()
		if len(bytes) != 8 {
			return // Without CloseSend, the end of the handler resets the stream.
		}
		sum += binary.LittleEndian.Uint64(bytes)
		if stream.Send(ctx, binary.LittleEndian.AppendUint64(nil, sum)) != nil {
			return
		}
	}
}

func main() {
	address := "shm:/tmp/sums.sock"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	server, err := breezeway.Listen(address, nil, breezeway.WithStreamHandler(sums))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", server.Addresses())
	log.Fatal(server.Serve())
}
