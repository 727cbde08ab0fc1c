package main

import (
	"net"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/remote/trans/gonet"
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

type dialer struct{ sessions *shmipc.SessionManager }

func (d dialer) DialTimeout(_, _ string, _ time.Duration) (net.Conn, error) {
	stream, err := d.sessions.GetStream()
	if err != nil {
		return nil, err
	}
	return buffered(stream), nil
}
