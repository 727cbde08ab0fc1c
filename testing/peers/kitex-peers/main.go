// The shop and the room of crates/breezeway-rpc/tests/idl as Kitex serves and calls them: calls, and
// streams in TTHeader.
//
//	go generate ./... && go build .
//	kitex serve tcp:127.0.0.1:0
//	kitex call unix:/tmp/shop.sock ttheader
//	kitex serve-both tcp:127.0.0.1:0
//	kitex call-both unix:/tmp/shop.sock ttheader
//	kitex call-late unix:/tmp/shop.sock ttheader
//	kitex call-multiplexed unix:/tmp/users.sock
//	kitex call-protobuf unix:/tmp/shop.sock framed
//	kitex call-shmipc unix:/tmp/shmipc.sock ttheader
//	kitex serve-shmipc unix:/tmp/shmipc.sock
//	kitex call-tls tcp:127.0.0.1:7000 ttheader ROOT.pem CERTIFICATE.pem CERTIFICATE.key
//	kitex serve-tls tcp:127.0.0.1:0 CERTIFICATE.pem CERTIFICATE.key
//	kitex serve-room tcp:127.0.0.1:0
//	kitex call-room unix:/tmp/room.sock
//	kitex serve-users tcp:127.0.0.1:0
//	kitex serve-echo unix:/tmp/echo.sock
//	kitex bench-echo unix:/tmp/echo.sock MILLISECONDS
package main

//go:generate go tool kitex -module breezeway/testing/peers/kitex ../../../crates/breezeway-rpc/tests/idl/shop.thrift
//go:generate go tool kitex -module breezeway/testing/peers/kitex -streamx ../../../crates/breezeway-rpc/tests/idl/room.thrift
//go:generate go tool kitex -module breezeway/testing/peers/kitex ../../../bench/rpc-peers/idl/echo.thrift
//go:generate go tool kitex -module breezeway/testing/peers/kitex ../../../examples/thrift/users.thrift

import (
	"fmt"
	"log"
	"net"
	"os"
	"strings"

	"github.com/cloudwego/kitex/pkg/klog"
)

func main() {
	klog.SetLevel(klog.LevelFatal)
	log.SetFlags(0)
	switch arguments := os.Args[1:]; {
	case len(arguments) == 2 && arguments[0] == "serve":
		serve(address(arguments[1]))
	case len(arguments) == 3 && arguments[0] == "call":
		call(address(arguments[1]), arguments[2])
	case len(arguments) == 2 && arguments[0] == "serve-both":
		serveBoth(address(arguments[1]))
	case len(arguments) == 3 && arguments[0] == "call-both":
		callBoth(address(arguments[1]), arguments[2])
	case len(arguments) == 3 && arguments[0] == "call-late":
		callLate(address(arguments[1]), arguments[2])
	case len(arguments) == 2 && arguments[0] == "call-multiplexed":
		callMultiplexed(address(arguments[1]))
	case len(arguments) == 3 && arguments[0] == "call-protobuf":
		callProtobuf(address(arguments[1]), arguments[2])
	case len(arguments) == 3 && arguments[0] == "call-shmipc":
		at := address(arguments[1])
		call(at, arguments[2], overShmipc(at)...)
	case len(arguments) == 2 && arguments[0] == "serve-shmipc":
		serveShmipc(address(arguments[1]))
	case len(arguments) == 6 && arguments[0] == "call-tls":
		call(address(arguments[1]), arguments[2],
			overTLS(arguments[3], arguments[4], arguments[5])...)
	case len(arguments) == 4 && arguments[0] == "serve-tls":
		serveTLS(address(arguments[1]), arguments[2], arguments[3])
	case len(arguments) == 2 && arguments[0] == "serve-room":
		serveRoom(address(arguments[1]))
	case len(arguments) == 2 && arguments[0] == "call-room":
		callRoom(address(arguments[1]))
	case len(arguments) == 2 && arguments[0] == "serve-users":
		serveUsers(address(arguments[1]))
	case len(arguments) == 2 && arguments[0] == "serve-echo":
		serveEcho(address(arguments[1]))
	case len(arguments) == 3 && arguments[0] == "bench-echo":
		benchEcho(address(arguments[1]), arguments[2])
	default:
		log.Fatal("usage: kitex serve ADDRESS | kitex call ADDRESS FRAMING | " +
			"kitex serve-both ADDRESS | kitex call-both ADDRESS FRAMING | " +
			"kitex call-late ADDRESS FRAMING | " +
			"kitex call-multiplexed ADDRESS | " +
			"kitex call-protobuf ADDRESS FRAMING | " +
			"kitex call-shmipc ADDRESS FRAMING | kitex serve-shmipc ADDRESS | " +
			"kitex call-tls ADDRESS FRAMING ROOT CERTIFICATE KEY | " +
			"kitex serve-tls ADDRESS CERTIFICATE KEY | " +
			"kitex serve-users ADDRESS | " +
			"kitex serve-room ADDRESS | kitex call-room ADDRESS | " +
			"kitex serve-echo ADDRESS | kitex bench-echo ADDRESS MILLISECONDS\n" +
			"framings: ttheader, ttheaderframed, framed, buffered")
	}
}

// address reads unix:/path and tcp:host:port.
func address(text string) net.Addr {
	network, place, _ := strings.Cut(text, ":")
	if network == "unix" {
		return &net.UnixAddr{Net: "unix", Name: place}
	}
	found, err := net.ResolveTCPAddr("tcp", place)
	if err != nil {
		log.Fatal(err)
	}
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
