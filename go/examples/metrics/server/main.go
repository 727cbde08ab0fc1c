// Command server serves the statistics of its sessions to Prometheus, at the second argument.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/metrics"
)

func greet(_ context.Context, call *breezeway.Call) error {
	return call.Reply(fmt.Appendf(nil, "hello %s", call.Request().Bytes()))
}

func main() {
	arguments := append(os.Args[1:], "shm:/tmp/hello.sock", "127.0.0.1:9185")[:2]
	if len(os.Args) == 2 {
		arguments[1] = "127.0.0.1:9185"
	}
	server, err := breezeway.Listen(arguments[0], greet)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", arguments[1])
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/metrics", metrics.Handler())
	go func() { log.Fatal(http.Serve(listener, nil)) }()
	fmt.Printf("listening on %v, metrics at %v\n", server.Addresses(), listener.Addr())
	log.Fatal(server.Serve())
}
