package breezewaykitex_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/users"
	listed "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/users/users"
)

// plainly returns a client with Kitex's own transport of the socket that a pair's server has.
func plainly(t *testing.T, p pair, protocol transport.Protocol) listed.Client {
	_, path, _ := strings.Cut(p.address, ":")
	c, err := listed.NewClient("Users", client.WithHostPorts(path),
		client.WithTransportProtocol(protocol),
		client.WithMetaHandler(transmeta.ClientTTHeaderHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPlainClientsAreServedAtTheSameSocket(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		for _, protocol := range []transport.Protocol{transport.PurePayload, transport.Framed,
			transport.TTHeader, transport.TTHeaderFramed} {
			plain := pair{client: plainly(t, p, protocol)}
			plain.isRight(t)
			p.isRight(t)
			_, err := plain.client.Age(context.Background(), "Bob")
			if !errors.As(err, new(*users.NoSuchUser)) {
				t.Errorf("%v: %v", protocol, err)
			}
			_, err = plain.client.Age(context.Background(), "broken")
			if !errors.As(err, new(*remote.TransError)) {
				t.Errorf("%v: %v", protocol, err)
			}
			if err := plain.client.Seen(context.Background(), "Ada"); err != nil {
				t.Errorf("%v: %v", protocol, err)
			}
			<-p.seen
		}
		_, err := plainly(t, p, transport.TTHeader).Age(context.Background(), "infant")
		if _, is := kerrors.FromBizStatusError(err); !is {
			t.Errorf("%v", err)
		}
	}, server.WithMetaHandler(transmeta.ServerTTHeaderHandler))
}

func TestBytesOfNoProtocolEndTheirConnectionAlone(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		_, path, _ := strings.Cut(p.address, ":")
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes come back", n)
		}
		p.isRight(t)
	})
}
