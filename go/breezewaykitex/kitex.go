// Package breezewaykitex runs Kitex (github.com/cloudwego/kitex) over Breezeway: one option for a
// client and one for a server.
//
//	s := user.NewServer(new(handler), breezewaykitex.Server("shm:/run/user.sock"))
//
//	c, err := user.NewClient("user", breezewaykitex.Client("shm:/run/user.sock"))
//
// Each call of a client is one native call of its session (docs/services.md), so that clients and
// servers of breezeway-rpc, in Rust, are on the other side as well as Kitex. Generated code,
// middlewares and the governance of Kitex stay as they are.
//
// A server also takes Kitex's plain clients, on the socket of a shm: address and at unix: and tcp:
// addresses: framed, buffered and in TTHeader, without Kitex's streams. The server validates their
// bytes as those of native calls.
package breezewaykitex

import (
	"context"
	"fmt"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/discovery"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/instances"
)

// Client has a Kitex client call the first of the addresses, separated by commas, that can be had.
// Its calls share one session, which is dialled with the first of them, and again once it is over;
// it ends when the client is closed. The options WithHandshakeTimeout and WaitForServer bound the
// wait for a server, and not Kitex's WithConnectTimeout. Options of connections and transport
// protocols have no effect.
func Client(addresses string, opts ...breezeway.DialOption) client.Option {
	return client.WithSuite(suiteOf(addresses, opts))
}

// ClientOf has a Kitex client call the instances of its service, by the name given to Kitex's
// NewClient, that resolver returns. Instances on this host are called over their sockets, and are
// tried before others, which are called by TCP or TLS; Kitex's load balancer (WithLoadBalancer)
// chooses among those on this host, and among the others, by their weights. An attempt that reaches
// no instance, or that Kitex's circuit breaker refuses, is followed by one at another instance.
//
// Kitex asks the resolver each second, unless WithLoadBalancer sets another interval. The session
// of an instance that has gone away is closed once its calls and streams have ended, and all are
// once Kitex no longer asks for a client without calls, by default within 30 s. Instances without
// sessions (Instance.Framing) get no calls. The options are those of [Client].
func ClientOf(resolver instances.Resolver, opts ...breezeway.DialOption) client.Option {
	of := func(keep func([]string)) discovery.Resolver { return resolverOf(resolver, keep) }
	return client.WithSuite(clientSuite{of, true, opts})
}

// Server has a Kitex server listen at addresses, separated by commas, for native calls and for
// plain clients. Up to 65,536 handlers run concurrently, of one session too; the option WithOffload
// sets another limit. A handler's context ends when its client no longer waits. Stop serves calls
// in flight, up to Kitex's own limit (server.WithExitWaitTime), while clients connect to the next
// server. It excludes server.WithListener and WithServiceAddr.
func Server(addresses string, opts ...breezeway.ServerOption) server.Option {
	return serverOption(addresses, opts)
}

// PeerOf returns the process that has made the call of a handler's context; false of contexts of
// other servers.
func PeerOf(ctx context.Context) (breezeway.Peer, bool) {
	info := rpcinfo.GetRPCInfo(ctx)
	if info == nil {
		return breezeway.Peer{}, false
	}
	address, is := info.From().Address().(*peerAddr)
	if !is {
		return breezeway.Peer{}, false
	}
	return address.peer, true
}

// peerAddr is the address of a client to Kitex.
type peerAddr struct{ peer breezeway.Peer }

// Network returns Breezeway's name.
func (*peerAddr) Network() string { return network }

// String returns the process, if it is known.
func (a *peerAddr) String() string {
	if !a.peer.Known {
		return "unknown"
	}
	return fmt.Sprintf("pid %d of uid %d", a.peer.PID, a.peer.UID)
}
