// Command client calls the server with a deadline, and branches on the error.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

const greet = 0

func main() {
	address := "shm:/tmp/hello.sock"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	client := breezeway.NewClient(address)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	reply, err := client.Call(ctx, greet, []byte("world"))
	var failed *breezeway.CallError
	switch {
	case err == nil:
		fmt.Printf("%s\n", reply.Bytes())
		reply.Release()
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Println("too late")
	case errors.As(err, &failed):
		fmt.Println("the handler failed:", failed.Reason)
	case !breezeway.MayHaveRun(err): // Such a call may be repeated.
		log.Fatal("not served: ", err)
	default:
		log.Fatal(err)
	}
}
