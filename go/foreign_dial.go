package breezeway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// A ForeignError is returned by [Dial] for a server at a unix, tcp or tls address that does not
// speak Breezeway: it sends other bytes, closes the connection during the handshake, or does not
// take the protocol's name in TLS.
type ForeignError struct{ err error }

func (e *ForeignError) Error() string { return e.err.Error() }

// Unwrap returns the error of the handshake.
func (e *ForeignError) Unwrap() error { return e.err }

// asForeign returns the error of a handshake, as a ForeignError if it is one.
func asForeign(carrier Carrier, err error) error {
	if carrier == Shm {
		return err
	}
	var failed *TLSError
	isOther := errors.As(err, new(*foreignError)) || errors.Is(err, errHandshakeClosed)
	// The alert has no exported type.
	hasNoName := errors.As(err, &failed) && strings.Contains(failed.Err.Error(), noProtocol)
	if isOther || hasNoName {
		return &ForeignError{err}
	}
	return err
}

const noProtocol = "no application protocol"

// DialForeign connects to a server of another protocol at a unix, tcp or tls address. Over tls it
// requires the protocol of the option [ForeignProtocol]. The connection has a method Peer, which
// returns the server's credentials.
func DialForeign(ctx context.Context, address Address, opts ...Option) (net.Conn, error) {
	set, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	if address.Carrier == Shm {
		return nil, fmt.Errorf("breezeway: %v: shared memory needs a session", address)
	}
	config, err := set.clientTLS(address)
	if err != nil {
		return nil, err
	}
	conn, err := connectTo(ctx, address, set.handshakeTimeout)
	if err != nil {
		return nil, fmt.Errorf("breezeway: dial %v: %w", address, err)
	}
	dialled, err := prepareForeign(ctx, conn, address, set, config)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("breezeway: dial %v: %w", address, err)
	}
	return dialled, nil
}

// foreignServer is a connection to a server of another protocol.
type foreignServer struct {
	net.Conn
	peer Peer
	at   Address
}

// Peer returns the server's credentials.
func (c *foreignServer) Peer() Peer { return c.peer }

// LocalAddr returns an address with the carrier.
func (c *foreignServer) LocalAddr() net.Addr { return Address{Carrier: c.at.Carrier} }

// RemoteAddr returns the server's address.
func (c *foreignServer) RemoteAddr() net.Addr { return c.at }

func prepareForeign(ctx context.Context, conn net.Conn, address Address, opts *options,
	config *tls.Config) (*foreignServer, error) {
	server := &foreignServer{Conn: conn, at: address}
	raw, err := rawConn(conn)
	if err != nil {
		return nil, err
	}
	switch address.Carrier {
	case TCP:
		return server, prepareTCP(raw)
	case TLS:
		if err := prepareTCP(raw); err != nil {
			return nil, err
		}
		return server, server.secure(ctx, opts, config)
	}
	server.peer, err = peerOf(raw)
	return server, err
}

// secure performs the TLS handshake.
func (c *foreignServer) secure(ctx context.Context, opts *options, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, opts.handshakeTimeout)
	defer cancel()
	config.NextProtos = []string{opts.foreign}
	conn := tls.Client(c.Conn, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil {
			return err
		}
		return &TLSError{err}
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != opts.foreign {
		return &TLSError{errors.New(noProtocol)}
	}
	if len(state.VerifiedChains) > 0 {
		c.peer.Identity = state.PeerCertificates[0]
	}
	c.Conn = conn
	return c.SetDeadline(time.Time{})
}
