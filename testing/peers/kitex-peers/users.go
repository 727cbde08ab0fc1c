package main

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"

	"breezeway/testing/peers/kitex/kitex_gen/users"
	listed "breezeway/testing/peers/kitex/kitex_gen/users/users"
)

// table is the service of examples/thrift.
type table struct{}

func (*table) Age(_ context.Context, name string) (int64, error) {
	if name != "Ada" {
		return 0, &users.NoSuchUser{Name: name}
	}
	return 36, nil
}

func serveUsers(at net.Addr) {
	listener, err := net.Listen(at.Network(), at.String())
	must("listen", err)
	fmt.Printf("%s:%s\n", listener.Addr().Network(), listener.Addr())
	s := listed.NewServer(&table{}, server.WithListener(listener),
		server.WithMetaHandler(transmeta.ServerTTHeaderHandler))
	must("serve", s.Run())
}

// callMultiplexed makes five calls from each of 200 goroutines over two multiplexed connections.
func callMultiplexed(at net.Addr) {
	c := listed.MustNewClient("Users", append(options(at, "ttheader"), client.WithMuxConnection(2))...)
	var all sync.WaitGroup
	for range 200 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 5 {
				age, err := c.Age(context.Background(), "Ada")
				must("age", err)
				expect("age", age, 36)
			}
		}()
	}
	all.Wait()
	fmt.Println("all right")
}
