package grpc

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// Credentials carry who is on the other side, as the kernel or TLS has said it: see PeerOf. They
// encrypt nothing: shm and unix stay on this machine, and tls has encrypted already; over tcp
// nothing is safe, and so is said to who asks for that (per-RPC credentials do).
func Credentials() credentials.TransportCredentials { return transportCredentials{} }

// PeerOf is who has sent a call, in its handler's context, or who serves it, by grpc.Peer. False if
// the credentials are not those of Credentials.
func PeerOf(ctx context.Context) (breezeway.Peer, bool) {
	p, has := peer.FromContext(ctx)
	if !has {
		return breezeway.Peer{}, false
	}
	info, is := p.AuthInfo.(AuthInfo)
	return info.Peer, is
}

// AuthInfo is what Credentials say of a connection.
type AuthInfo struct {
	credentials.CommonAuthInfo
	Peer breezeway.Peer
}

// AuthType names the credentials.
func (AuthInfo) AuthType() string { return "breezeway" }

type transportCredentials struct{}

func (transportCredentials) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn,
	credentials.AuthInfo, error) {
	return conn, infoOf(conn), nil
}

func (transportCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, infoOf(conn), nil
}

func infoOf(conn net.Conn) AuthInfo {
	info := AuthInfo{}
	info.SecurityLevel = credentials.NoSecurity
	stream, is := conn.(interface{ Peer() breezeway.Peer })
	if !is {
		return info
	}
	info.Peer = stream.Peer()
	if conn.LocalAddr().Network() != breezeway.TCP.String() {
		info.SecurityLevel = credentials.PrivacyAndIntegrity
	}
	return info
}

func (transportCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "breezeway"}
}

func (c transportCredentials) Clone() credentials.TransportCredentials { return c }

func (transportCredentials) OverrideServerName(string) error { return nil }
