package main

import (
	"fmt"
	"net"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/remote/trans/gonet"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/shmipc-go"
)

// overShmipc makes every connection of a client a stream of shmipc-go.
func overShmipc(at net.Addr) []client.Option {
	config := shmipc.DefaultSessionManagerConfig()
	config.Network, config.Address = "unix", at.String()
	config.MemMapType = shmipc.MemMapTypeMemFd
	// Enough for the longest message and its echo: who runs out of it gets no streams for 30 s.
	config.ShareMemoryBufferCap = 256 << 20
	sessions, err := shmipc.NewSessionManager(config)
	must("sessions", err)
	return []client.Option{
		client.WithDialer(dialer{sessions}),
		client.WithTransHandlerFactory(gonet.NewCliTransHandlerFactory()),
	}
}

// serveShmipc serves the shop on streams of shmipc-go, whose listener accepts them as connections.
func serveShmipc(at net.Addr) {
	// Standard output is for the lines of the handlers: at level 5 the library prints nothing.
	shmipc.SetLogLevel(5)
	listener, err := shmipc.Listen(at.String())
	must("listen", err)
	fmt.Printf("unix:%s\n", at)
	run(listener, server.WithTransServerFactory(gonet.NewTransServerFactory()),
		server.WithTransHandlerFactory(gonet.NewSvrTransHandlerFactory()))
}

type dialer struct{ sessions *shmipc.SessionManager }

func (d dialer) DialTimeout(_, _ string, _ time.Duration) (net.Conn, error) {
	stream, err := d.sessions.GetStream()
	if err != nil {
		return nil, err
	}
	return buffered(stream), nil
}
