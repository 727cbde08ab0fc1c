package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"

	"breezeway/testing/peers/kitex/kitex_gen/echo"
	mirror "breezeway/testing/peers/kitex/kitex_gen/echo/echo"
)

// mirrored returns its arguments.
type mirrored struct{}

func (*mirrored) Five(_ context.Context, five *echo.Five) (*echo.Five, error) { return five, nil }

func (*mirrored) Rows(_ context.Context, rows []*echo.Row) ([]*echo.Row, error) { return rows, nil }

func serveEcho(at net.Addr) {
	listener, err := net.Listen(at.Network(), at.String())
	must("listen", err)
	fmt.Printf("%s:%s\n", listener.Addr().Network(), listener.Addr())
	s := mirror.NewServer(&mirrored{}, server.WithListener(listener),
		server.WithMetaHandler(transmeta.ServerTTHeaderHandler))
	must("serve", s.Run())
}

// benchEcho prints the median of a call in microseconds, of some time after a warm-up.
func benchEcho(at net.Addr, millis string) {
	count, err := strconv.Atoi(millis)
	must("a time", err)
	c := mirror.MustNewClient("Echo", options(at, "ttheaderframed")...)
	five := &echo.Five{Id: 1, Count: 2, Price: 3, Open: true, Changed: 5}
	var times []time.Duration
	for _, most := range []time.Duration{time.Duration(count) / 5, time.Duration(count)} {
		times = times[:0]
		for begun := time.Now(); time.Since(begun) < most*time.Millisecond; {
			sent := time.Now()
			got, err := c.Five(context.Background(), five)
			must("five", err)
			if got.Id != 1 {
				log.Fatal("another struct")
			}
			times = append(times, time.Since(sent))
		}
	}
	slices.Sort(times)
	fmt.Println(float64(times[len(times)/2].Nanoseconds()) / 1000)
}
