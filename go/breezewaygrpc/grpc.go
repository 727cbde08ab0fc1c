// Package breezewaygrpc carries gRPC over Breezeway. A [Client] and a [Server] make native calls,
// like those of the crate breezeway-grpc, for code of protoc-gen-go-grpc:
//
//	server := breezewaygrpc.NewServer(breezewaygrpc.Config{})
//	pb.RegisterUsersServer(server, users)
//	err := server.Listen("shm:/run/user.sock")
//	err = server.Serve()
//
//	conn, err := breezewaygrpc.NewClient("shm:/run/user.sock")
//	client := pb.NewUsersClient(conn)
//
// For google.golang.org/grpc itself, which speaks HTTP/2, there is a listener for servers, and a
// dialer for clients. Each connection is a stream of a shared session.
//
//	listener, err := breezewaygrpc.Listen("shm:/run/user.sock")
//	server := grpc.NewServer(grpc.Creds(breezewaygrpc.Credentials()))
//	err = server.Serve(listener)
//
//	dialer := breezewaygrpc.NewDialer()
//	client, err := grpc.NewClient("breezeway:shm:/run/user.sock", dialer.Options()...)
//
// A handler gets its client from [PeerOf]. The transport needs no TLS on one machine: the socket
// file's permissions determine which users can connect, and breezeway.Authorize decides by
// credentials. GracefulStop asks clients to go away, and waits for their calls.
package breezewaygrpc

import (
	"context"
	"net"

	"google.golang.org/grpc"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// Listen listens at addresses, separated by commas, for grpc.Server.Serve. Any gRPC client can also
// connect to the socket file or the port, as to a server without Breezeway.
func Listen(addresses string, opts ...breezeway.ServerOption) (net.Listener, error) {
	return breezeway.ListenNet(addresses, nil, append([]breezeway.ServerOption{
		breezeway.WithForeignProtocol(http2Protocol)}, opts...)...)
}

// http2Protocol is the name of HTTP/2 in TLS (ALPN).
const http2Protocol = "h2"

// WithDialer makes a client connect to the first reachable one of addresses, whatever its target.
// Its connections share one session, which is dialled again after it has ended, and which ends with
// the process. A [Dialer] can be closed.
func WithDialer(addresses string, opts ...breezeway.DialOption) grpc.DialOption {
	d := breezeway.NewNetDialer(addresses, opts...)
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return d.Dial(ctx)
	})
}
