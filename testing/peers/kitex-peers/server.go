package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"

	"breezeway/testing/peers/kitex/kitex_gen/shop"
	health "breezeway/testing/peers/kitex/kitex_gen/shop/health"
	served "breezeway/testing/peers/kitex/kitex_gen/shop/shop"
)

// corner is the shop, which prints on standard output who looked in.
type corner struct {
	mutex sync.Mutex
	left  int32
}

func serve(at net.Addr) {
	listener, err := net.Listen(at.Network(), at.String())
	must("listen", err)
	if unix, ok := listener.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(true)
	}
	fmt.Printf("%s:%s\n", listener.Addr().Network(), listener.Addr())
	run(listener)
}

func all(listener net.Listener, more ...server.Option) []server.Option {
	return append([]server.Option{
		server.WithListener(listener),
		server.WithMetaHandler(transmeta.ServerTTHeaderHandler),
		server.WithMetaHandler(transmeta.MetainfoServerHandler),
		server.WithEnableContextTimeout(true),
	}, more...)
}

// run serves the shop until the program ends.
func run(listener net.Listener, more ...server.Option) {
	must("serve", served.NewServer(&corner{left: 3}, all(listener, more...)...).Run())
}

// shut is never ready.
type shut struct{ corner }

func (*shut) Ready(context.Context) (bool, error) { return false, nil }

// serveBoth serves two services that have methods of the same names. A call without a service is
// for the shop.
func serveBoth(at net.Addr) {
	listener, err := net.Listen(at.Network(), at.String())
	must("listen", err)
	fmt.Printf("%s:%s\n", listener.Addr().Network(), listener.Addr())
	s := server.NewServer(all(listener)...)
	must("register", served.RegisterService(s, &corner{left: 3}, server.WithFallbackService()))
	must("register", health.RegisterService(s, &shut{}))
	must("serve", s.Run())
}

func (c *corner) Buy(_ context.Context, wanted *shop.Item, coupon string) (*shop.Item, error) {
	switch coupon {
	case "forged":
		return nil, fmt.Errorf("no such coupon")
	case "expired":
		extra := map[string]string{"since": "\"May\""}
		return nil, kerrors.NewBizStatusErrorWithExtra(410, "too late", extra)
	}
	if wanted.Name != "tea" {
		return nil, &shop.Closed{Message: "never had it"}
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

func (c *corner) Count(ctx context.Context) (int64, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return -1, nil
	}
	return time.Until(deadline).Milliseconds(), nil
}

func (c *corner) Echo(ctx context.Context, text string) (string, error) {
	if name, ok := metainfo.GetValue(ctx, "name"); ok {
		metainfo.SendBackwardValue(ctx, "greeting", "hello "+name)
	}
	if text == "never" {
		select {}
	}
	return text, nil
}

func (c *corner) Look(_ context.Context, who string) error {
	fmt.Println(who)
	return nil
}

func (c *corner) Type(_ context.Context, cx, match int32) (int32, error) { return cx - match, nil }
func (c *corner) New_(_ context.Context, value int32) (int32, error)     { return value, nil }
func (c *corner) Self(context.Context) error                             { return nil }
func (c *corner) Ready(context.Context) (bool, error)                    { return true, nil }
func (c *corner) Check(_ context.Context, depth int32) error {
	if depth < 0 {
		panic("deeper than the ground")
	}
	return nil
}
