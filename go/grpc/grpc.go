// Package grpc runs google.golang.org/grpc over Breezeway: a listener for servers, and a dialer for
// clients, each of whose connections is a stream of a shared session.
//
//	listener, err := breezegrpc.Listen("shm:/run/user.sock")
//	err = grpcServer.Serve(listener)
//
//	client, err := grpc.NewClient("passthrough:///user", breezegrpc.WithDialer("shm:/run/user.sock"),
//		grpc.WithTransportCredentials(insecure.NewCredentials()))
//
// The transport needs no TLS on one machine: the socket file's permissions say who may connect, and
// breezeway.Authorize decides by credentials. gRPC's own framing and HTTP/2 stay as they are.
package grpc

import (
	"context"
	"net"

	"google.golang.org/grpc"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// Listen listens at addresses, separated by commas, for grpc.Server.Serve.
func Listen(addresses string, opts ...breezeway.Option) (net.Listener, error) {
	return breezeway.ListenNet(addresses, opts...)
}

// WithDialer has a client connect to the first of the addresses that can be had. Its connections
// share one session, which is dialled again once it is over.
func WithDialer(addresses string, opts ...breezeway.Option) grpc.DialOption {
	d := breezeway.NewNetDialer(addresses, opts...)
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return d.Dial(ctx)
	})
}
