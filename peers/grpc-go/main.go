// The service of gRPC's interoperability test as grpc-go serves it, at unix:/path or tcp:host:port:
// grpc-go's own program listens on TCP only. Its client needs no other program.
//
//	go build . && go build -o grpc-go-client google.golang.org/grpc/interop/client
//	grpc-go tcp:127.0.0.1:0
//	grpc-go-client -server_host unix:/tmp/interop.sock -server_port 0 -test_case large_unary
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: grpc-go unix:/path | grpc-go tcp:host:port")
	}
	network, place, _ := strings.Cut(os.Args[1], ":")
	listener, err := net.Listen(network, place)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s:%s\n", network, listener.Addr())
	server := grpc.NewServer()
	testgrpc.RegisterTestServiceServer(server, interop.NewTestServer())
	log.Fatal(server.Serve(listener))
}
