package kitex

import (
	"net"
	"time"

	"github.com/cloudwego/kitex/client"
)

// Over has a client connect by a function.
func Over(dial func() net.Conn) []client.Option {
	return []client.Option{
		client.WithHostPorts(unresolved),
		client.WithDialer(dialerOf(dial)),
		client.WithTransHandlerFactory(clientHandlers{}),
	}
}

type dialerOf func() net.Conn

func (d dialerOf) DialTimeout(network, _ string, _ time.Duration) (net.Conn, error) {
	return newConn(d(), network), nil
}
