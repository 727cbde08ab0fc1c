// grpc-go: the service of gRPC's interoperability test and the standard health service, at unix:/path
// or tcp:host:port, and as a client health checks and the compressed cases. (grpc-go's own program
// of the test listens on TCP only, and its own client has no compressed cases.)
//
//	go build . && go build -o grpc-go-client google.golang.org/grpc/interop/client
//	grpc-go tcp:127.0.0.1:0
//	grpc-go tls:127.0.0.1:0 CERTIFICATE.pem CERTIFICATE.key
//	grpc-go breezeway shm:/tmp/interop.sock          # by the Go module's listener
//	grpc-go check unix:/tmp/interop.sock 100000
//	grpc-go compressed unix:/tmp/interop.sock
//	grpc-go-client -server_host unix:/tmp/interop.sock -server_port 0 -test_case large_unary
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
)

const usage = "usage: grpc-go ADDRESS | grpc-go tls:HOST:PORT CERTIFICATE KEY | " +
	"grpc-go breezeway ADDRESS | grpc-go check ADDRESS COUNT | grpc-go compressed ADDRESS"

func main() {
	log.SetFlags(0)
	switch {
	case len(os.Args) == 2:
		listener := listen(os.Args[1])
		fmt.Printf("%s:%s\n", listener.Addr().Network(), listener.Addr())
		log.Fatal(server().Serve(listener))
	case len(os.Args) == 3 && os.Args[1] == "breezeway":
		listener, err := breezewaygrpc.Listen(os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(listener.Addr())
		log.Fatal(server().Serve(listener))
	case len(os.Args) == 4 && strings.HasPrefix(os.Args[1], "tls:"):
		own, err := credentials.NewServerTLSFromFile(os.Args[2], os.Args[3])
		if err != nil {
			log.Fatal(err)
		}
		listener := listen("tcp:" + strings.TrimPrefix(os.Args[1], "tls:"))
		fmt.Printf("tls:%s\n", listener.Addr())
		log.Fatal(server(grpc.Creds(own)).Serve(listener))
	case len(os.Args) == 4 && os.Args[1] == "check":
		check(os.Args[2], os.Args[3])
	case len(os.Args) == 3 && os.Args[1] == "compressed":
		compressed(os.Args[2])
	default:
		log.Fatal(usage)
	}
}

func listen(address string) net.Listener {
	network, place, _ := strings.Cut(address, ":")
	listener, err := net.Listen(network, place)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func server(options ...grpc.ServerOption) *grpc.Server {
	server := grpc.NewServer(options...)
	testgrpc.RegisterTestServiceServer(server, interop.NewTestServer())
	healthgrpc.RegisterHealthServer(server, health.NewServer())
	return server
}
