package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"strings"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"

	"breezeway/testing/peers/apache/shop"
)

// connect gives a client with a connection of its own: one of this library makes a call at a time.
func connect(at net.Addr, transports thrift.TTransportFactory) *thrift.TStandardClient {
	socket := thrift.NewTSocketFromAddrConf(at, configuration)
	must("open", socket.Open())
	transport, err := transports.GetTransport(socket)
	must("transport", err)
	protocols := thrift.NewTBinaryProtocolFactoryConf(configuration)
	return thrift.NewTStandardClient(protocols.GetProtocol(transport), protocols.GetProtocol(transport))
}

// refused ends the program unless it is an exception of this kind, with these words.
func refused(what string, err error, kind int32, words string) {
	var failed thrift.TApplicationException
	if !errors.As(err, &failed) || failed.TypeId() != kind || !strings.Contains(failed.Error(), words) {
		log.Fatalf("%s: %v", what, err)
	}
}

// call tries every kind of method on a shop with three teas.
func call(at net.Addr, transports thrift.TTransportFactory) {
	connection := connect(at, transports)
	c := shop.NewShopClient(connection)
	ctx := context.Background()

	bought, err := c.Buy(ctx, &shop.Item{Name: "tea", Count: 2}, "")
	must("buy", err)
	expect("buy", bought.Count, 2)
	var empty *shop.OutOfStock
	if _, err = c.Buy(ctx, &shop.Item{Name: "tea", Count: 2}, ""); !errors.As(err, &empty) {
		log.Fatalf("buy too much: %v", err)
	}
	expect("left", empty.Left, 1)
	var shut *shop.Closed
	if err = c.Stock(ctx, nil); !errors.As(err, &shut) {
		log.Fatalf("stock nothing: %v", err)
	}
	must("stock", c.Stock(ctx, []*shop.Item{{Name: "milk", Count: 1}}))
	ready, err := c.Ready(ctx)
	must("ready", err)
	expect("ready", ready, true)
	must("check", c.Check(ctx, 1))
	left, err := c.Count(ctx)
	must("count", err)
	expect("no deadline", left, -1)

	_, err = c.Buy(ctx, &shop.Item{Name: "tea", Count: 1}, "forged")
	refused("a forged coupon", err, 77, "no such coupon")
	_, err = c.Buy(ctx, &shop.Item{Name: "tea", Count: 1}, "expired")
	refused("a business error", err, thrift.INTERNAL_ERROR, "too late")
	refused("a panic", c.Check(ctx, -1), thrift.INTERNAL_ERROR, "")
	_, err = connection.Call(ctx, "unknown", shop.NewHealthReadyArgs(), shop.NewHealthReadyResult())
	refused("an unknown method", err, thrift.UNKNOWN_METHOD, "")

	must("look", c.Look(ctx, "Apache"))
	for _, size := range []int{0, 1, 65536, 16 << 20} {
		text := strings.Repeat("x", size)
		echoed, err := c.Echo(ctx, text)
		must("echo", err)
		expect("echo", echoed == text, true)
	}
	var all sync.WaitGroup
	for number := 0; number < 500; number++ {
		all.Add(1)
		go func() {
			defer all.Done()
			text := strings.Repeat(fmt.Sprint(number), number)
			echoed, err := shop.NewShopClient(connect(at, transports)).Echo(ctx, text)
			must("echo at once", err)
			expect("echo at once", echoed == text, true)
		}()
	}
	all.Wait()
	fmt.Println("all right")
}
