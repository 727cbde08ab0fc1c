package main

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"

	"breezeway/testing/peers/apache/shop"
)

// corner is the shop, which prints on standard output who looked in.
type corner struct {
	mutex sync.Mutex
	left  int32
}

func serve(at net.Addr, transports thrift.TTransportFactory) {
	listens := thrift.NewTServerSocketFromAddrTimeout(at, 0)
	must("listen", listens.Listen())
	fmt.Printf("%s:%s\n", listens.Addr().Network(), listens.Addr())
	processor := shop.NewShopProcessor(&corner{left: 3})
	protocols := thrift.NewTBinaryProtocolFactoryConf(configuration)
	must("serve", thrift.NewTSimpleServer4(processor, listens, transports, protocols).Serve())
}

func (c *corner) Buy(_ context.Context, wanted *shop.Item, coupon string) (*shop.Item, error) {
	if coupon == "forged" {
		return nil, fmt.Errorf("no such coupon")
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.left < wanted.Count {
		return nil, &shop.OutOfStock{Message: "not so many", Left: c.left}
	}
	c.left -= wanted.Count
	return wanted, nil
}

func (c *corner) Stock(_ context.Context, items []*shop.Item) error {
	if len(items) == 0 {
		return &shop.Closed{Message: "nothing to put there"}
	}
	return nil
}

func (c *corner) Look(_ context.Context, who string) error {
	fmt.Println(who)
	return nil
}

func (c *corner) Count(context.Context) (int64, error)                { return -1, nil }
func (c *corner) Echo(_ context.Context, text string) (string, error) { return text, nil }
func (c *corner) Ready(context.Context) (bool, error)                 { return true, nil }

func (c *corner) Check(_ context.Context, depth int32) error {
	if depth < 0 {
		return fmt.Errorf("deeper than the ground")
	}
	return nil
}
