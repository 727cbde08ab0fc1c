// Package grpc runs google.golang.org/grpc over Breezeway: a listener for servers, and a dialer for
// clients, each of whose connections is a stream of a shared session.
//
//	listener, err := breezegrpc.Listen("shm:/run/user.sock")
//	server := grpc.NewServer(grpc.Creds(breezegrpc.Credentials()))
//	err = server.Serve(listener)
//
//	dialer := breezegrpc.NewDialer()
//	client, err := grpc.NewClient("breezeway:shm:/run/user.sock", dialer.Options()...)
//
// A handler learns by PeerOf who calls. The transport needs no TLS on one machine: the socket
// file's permissions say who may connect, and breezeway.Authorize decides by credentials. gRPC's
// own framing and HTTP/2 stay as they are. GracefulStop tells clients to go away, and waits for
// their calls.
package grpc

import (
	"context"
	"net"

	"google.golang.org/grpc"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// Listen listens at addresses, separated by commas, for grpc.Server.Serve. Any gRPC client can
// connect to the socket file or the port as well, as to a server without Breezeway.
func Listen(addresses string, opts ...breezeway.Option) (net.Listener, error) {
	return breezeway.ListenNet(addresses, append([]breezeway.Option{
		breezeway.ForeignProtocol("h2")}, opts...)...)
}

// WithDialer has a client of any target connect to the first of the addresses that can be had. Its
// connections share one session, which is dialled again once it is over, and ends with the process:
// a Dialer can be closed.
func WithDialer(addresses string, opts ...breezeway.Option) grpc.DialOption {
	d := breezeway.NewNetDialer(addresses, opts...)
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return d.Dial(ctx)
	})
}
