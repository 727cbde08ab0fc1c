// The shop of crates/breezeway-rpc/tests/idl as Apache's library for Go serves and calls it, but for
// the methods whose names its compiler refuses. What that made of shop.thrift is kept in shop/, as
// not every machine has it:
//
//	thrift -r --gen go:package_prefix=breezeway/testing/peers/apache/ -out . shop.thrift
//
//	go build .
//	apache serve tcp:127.0.0.1:0 framed
//	apache call unix:/tmp/shop.sock buffered
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"
)

// The library's own limit is 16,384,000 bytes, a little less than 16 MiB.
var configuration = &thrift.TConfiguration{MaxFrameSize: 64 << 20}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: apache serve ADDRESS FRAMING | apache call ADDRESS FRAMING\n" +
			"framings: framed, buffered")
	}
	var transports thrift.TTransportFactory
	switch os.Args[3] {
	case "framed":
		transports = thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), configuration)
	case "buffered":
		transports = thrift.NewTBufferedTransportFactory(8192)
	default:
		log.Fatalf("%s is not a framing", os.Args[3])
	}
	switch at := address(os.Args[2]); os.Args[1] {
	case "serve":
		serve(at, transports)
	case "call":
		call(at, transports)
	default:
		log.Fatalf("%s is nothing to do", os.Args[1])
	}
}

// address reads unix:/path and tcp:host:port.
func address(text string) net.Addr {
	network, place, _ := strings.Cut(text, ":")
	if network == "unix" {
		return &net.UnixAddr{Net: "unix", Name: place}
	}
	found, err := net.ResolveTCPAddr("tcp", place)
	must("address", err)
	return found
}

// must ends the program with the error.
func must(what string, err error) {
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
}

// expect ends the program unless the two are the same.
func expect(what string, got, wanted any) {
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		log.Fatalf("%s: %v, not %v", what, got, wanted)
	}
}
