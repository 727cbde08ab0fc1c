package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/client/callopt"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/transport"

	"breezeway/testing/peers/kitex/kitex_gen/shop"
	health "breezeway/testing/peers/kitex/kitex_gen/shop/health"
	called "breezeway/testing/peers/kitex/kitex_gen/shop/shop"
)

var framings = map[string]transport.Protocol{
	"ttheader":       transport.TTHeader,
	"ttheaderframed": transport.TTHeaderFramed,
	"framed":         transport.Framed,
	"buffered":       transport.PurePayload,
}

func options(at net.Addr, framing string) []client.Option {
	return []client.Option{
		client.WithHostPorts(at.String()),
		client.WithTransportProtocol(framings[framing]),
		client.WithMetaHandler(transmeta.ClientTTHeaderHandler),
		client.WithMetaHandler(transmeta.MetainfoClientHandler),
		client.WithRPCTimeout(20 * time.Second),
		// 50 ms by default, which 500 connections at once may take.
		client.WithConnectTimeout(10 * time.Second),
	}
}

// call tries every kind of method on a shop with three teas.
func call(at net.Addr, framing string, more ...client.Option) {
	has := strings.HasPrefix(framing, "ttheader")
	options := append(options(at, framing), more...)
	c := called.MustNewClient("Shop", options...)
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
	must("look", c.Look(ctx, "Kitex"))

	_, err = c.Buy(ctx, &shop.Item{Name: "tea", Count: 1}, "forged")
	var failed *remote.TransError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "no such coupon") {
		log.Fatalf("a forged coupon: %v", err)
	}
	expect("its kind", failed.TypeID(), 77)
	err = c.Check(ctx, -1)
	if !errors.As(err, &failed) || failed.TypeID() != 6 {
		log.Fatalf("a panic: %v", err)
	}
	unknown(ctx, options)

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
			echoed, err := c.Echo(ctx, text)
			must("echo at once", err)
			expect("echo at once", echoed == text, true)
		}()
	}
	all.Wait()

	if has {
		header(ctx, c)
		other := health.MustNewClient("Health", options...)
		if _, err = other.Ready(ctx); !errors.As(err, &failed) || failed.TypeID() != 20 {
			log.Fatalf("an unknown service: %v", err)
		}
	} else {
		bare(ctx, c)
	}
	fmt.Println("all right")
}

// unknown calls a method that the service does not have.
func unknown(ctx context.Context, options []client.Option) {
	info := called.NewServiceInfoForClient()
	info.Methods["unknown"] = info.Methods["echo"]
	c, err := client.NewClient(info, append(options, client.WithDestService("Shop"))...)
	must("a client", err)
	text := shop.ShopEchoArgs{Text: "x"}
	var failed *remote.TransError
	err = c.Call(ctx, "unknown", &text, shop.NewShopEchoResult())
	if !errors.As(err, &failed) || failed.TypeID() != 1 {
		log.Fatalf("an unknown method: %v", err)
	}
}

// callLate calls a method that is never answered.
func callLate(at net.Addr, framing string) {
	c := called.MustNewClient("Shop", options(at, framing)...)
	late := callopt.WithRPCTimeout(100 * time.Millisecond)
	_, err := c.Echo(context.Background(), "never", late)
	if !errors.Is(err, kerrors.ErrRPCTimeout) {
		log.Fatalf("a late call: %v", err)
	}
	// Others are answered.
	ready, err := c.Ready(context.Background())
	must("ready", err)
	expect("ready", ready, true)
	fmt.Println("all right")
}

// callBoth calls two services of one server, which have methods of the same names: the shop is
// ready, and the other one is not. A call that names neither must be refused.
func callBoth(at net.Addr, framing string) {
	options := options(at, framing)
	ctx := context.Background()
	if !strings.HasPrefix(framing, "ttheader") {
		c := called.MustNewClient("Shop", options...)
		_, err := c.Ready(ctx)
		var failed *remote.TransError
		if !errors.As(err, &failed) || failed.TypeID() != 21 {
			log.Fatalf("no service's name: %v", err)
		}
		left, err := c.Count(ctx)
		must("what one service has", err)
		expect("no deadline", left, -1)
		fmt.Println("all right")
		return
	}
	ready, err := called.MustNewClient("Shop", options...).Ready(ctx)
	must("the shop", err)
	expect("the shop", ready, true)
	other, err := health.MustNewClient("Health", options...).Ready(ctx)
	must("the other", err)
	expect("the other", other, false)
	fmt.Println("all right")
}

// header tests the features that only TTHeader carries.
func header(ctx context.Context, c called.Client) {
	_, err := c.Buy(ctx, &shop.Item{Name: "tea", Count: 1}, "expired")
	status, ok := kerrors.FromBizStatusError(err)
	if !ok {
		log.Fatalf("an expired coupon: %v", err)
	}
	expect("status", status.BizStatusCode(), 410)
	expect("message", status.BizMessage(), "too late")
	expect("extra", status.BizExtra()["since"], "\"May\"")

	left, err := c.Count(ctx)
	must("count", err)
	expect("a deadline", left > 15_000 && left <= 20_000, true)

	asking := metainfo.WithBackwardValues(metainfo.WithValue(ctx, "name", "Ada"))
	_, err = c.Echo(asking, "x")
	must("echo with metadata", err)
	greeting, _ := metainfo.RecvBackwardValue(asking, "greeting")
	expect("greeting", greeting, "hello Ada")
}

// bare tests the features that other framings do not carry.
func bare(ctx context.Context, c called.Client) {
	_, err := c.Buy(ctx, &shop.Item{Name: "tea", Count: 1}, "expired")
	var failed *remote.TransError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "too late") {
		log.Fatalf("an expired coupon: %v", err)
	}
	expect("its kind", failed.TypeID(), 6)

	left, err := c.Count(ctx)
	must("count", err)
	expect("no deadline", left, -1)

	asking := metainfo.WithBackwardValues(metainfo.WithValue(ctx, "name", "Ada"))
	_, err = c.Echo(asking, "x")
	must("echo with metadata", err)
	greeting, ok := metainfo.RecvBackwardValue(asking, "greeting")
	expect("a greeting "+greeting, ok, false)
}
