// Command server is restarted without a failed call: start it, let the client call, and start it
// again beside itself. The second process takes the sockets over, and the first one ends.
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

func greet(_ context.Context, call *breezeway.Call) error {
	name := call.Request().Bytes()
	return call.Reply(fmt.Appendf(nil, "hello %s, by process %d", name, os.Getpid()))
}

func main() {
	address := "shm:/tmp/hello.sock"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	server, err := breezeway.Listen(address, greet, breezeway.WithTakeOver(true),
		breezeway.WithDrainTimeout(30*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", server.Addresses())
	// Returns once a successor serves and all clients have moved there.
	if err := server.Serve(); !errors.Is(err, breezeway.ErrServerClosed) {
		log.Fatal(err)
	}
}
