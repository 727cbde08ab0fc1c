// Command server greets each caller, over any carrier.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

const greet = 0

func serve(_ context.Context, call *breezeway.Call) error {
	if call.Method() != greet {
		return call.Fail(breezeway.CodeNoSuchMethod, "there is greet")
	}
	return call.Reply(fmt.Appendf(nil, "hello %s", call.Request().Bytes()))
}

func main() {
	address := "shm:/tmp/hello.sock"
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
