package breezewaygrpc

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// Credentials returns credentials that carry the peer, as identified by the kernel or by TLS: see
// [PeerOf]. They encrypt nothing: shm and unix stay on this machine, and tls is encrypted already.
// Over tcp they report no security, which per-RPC credentials may require.
func Credentials() credentials.TransportCredentials { return transportCredentials{} }

// PeerOf returns the client of a call from its handler's context, or with grpc.Peer the server. It
// returns false if the connection does not use [Credentials].
func PeerOf(ctx context.Context) (breezeway.Peer, bool) {
	p, has := peer.FromContext(ctx)
	if !has {
		return breezeway.Peer{}, false
	}
	info, is := p.AuthInfo.(AuthInfo)
	return info.Peer, is
}

// AuthInfo is the authentication information of [Credentials].
type AuthInfo struct {
	credentials.CommonAuthInfo
	Peer breezeway.Peer
}

// AuthType returns the name of the credentials.
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
	stream, is := conn.(interface{ Peer() breezeway.Peer })
	local, isOurs := conn.LocalAddr().(breezeway.Address)
	if !is || !isOurs {
		return authInfo(breezeway.Peer{}, breezeway.TCP)
	}
	return authInfo(stream.Peer(), local.Carrier)
}

func authInfo(peer breezeway.Peer, carrier breezeway.Carrier) AuthInfo {
	info := AuthInfo{Peer: peer}
	info.SecurityLevel = credentials.PrivacyAndIntegrity
	if carrier == breezeway.TCP {
		info.SecurityLevel = credentials.NoSecurity
	}
	return info
}

func (transportCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "breezeway"}
}

func (c transportCredentials) Clone() credentials.TransportCredentials { return c }

func (transportCredentials) OverrideServerName(string) error { return nil }
