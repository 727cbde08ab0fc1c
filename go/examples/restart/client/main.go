// Command client calls without a pause while the server is restarted, and ends after the first
// reply of a second process. No call fails.
package main

import (
	"context"
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
	client := breezeway.NewClient(address, breezeway.WithWaitForServer(5*time.Second))
	defer client.Close()
	first := ""
	for calls := 1; ; calls++ {
		reply, err := client.Call(context.Background(), greet, []byte("world"))
		if err != nil {
			log.Fatal(err)
		}
		greeting := string(reply.Bytes())
		reply.Release()
		switch first {
		case "":
			first = greeting
			fmt.Println(greeting)
		case greeting:
		default:
			fmt.Printf("%s, in call %d\n", greeting, calls)
			return
		}
	}
}
