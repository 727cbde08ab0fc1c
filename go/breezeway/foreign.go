package breezeway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// A foreignConn is the connection of a client of another protocol.
type foreignConn struct {
	net.Conn
	socket net.Conn // of the TLS connection, over tls:
	first  []byte   // bytes that the server has already read
	local  Address
	peer   Peer
	once   sync.Once
	closed chan struct{}
}

// Read reads from the connection, beginning with the bytes that the server has already read.
func (c *foreignConn) Read(to []byte) (int, error) {
	if n := copy(to, c.first); n > 0 {
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(to)
}

// Close ends the connection. Its server closes the descriptor, which may take as long as the client
// likes.
func (c *foreignConn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		if err = nil; c.local.Carrier == TLS {
			err = c.Conn.Close()
		}
		shutDown(c.socket)
		close(c.closed)
	})
	return err
}

// LocalAddr returns an address with the carrier.
func (c *foreignConn) LocalAddr() net.Addr { return c.local }

// Peer returns the client's credentials.
func (c *foreignConn) Peer() Peer { return c.peer }

// takesForeign returns true if the server serves clients of another protocol.
func (s *Server) takesForeign() bool { return s.foreign != nil && s.opts.foreign != "" }

// isForeign returns true if a client with a failed hello is to be served as one of another
// protocol. It keeps the client's first bytes.
func (s *Server) isForeign(g *greeting, failed error) bool {
	var hello *foreignError
	if !s.takesForeign() || !errors.As(failed, &hello) || len(g.refused) > 0 {
		return false
	}
	g.foreign = hello.bytes
	return true
}

// serveForeign passes a client of another protocol to s.foreign until its connection is closed.
func (s *Server) serveForeign(g greeting) {
	conn := &foreignConn{Conn: g.speaks(), socket: g.conn, first: g.foreign, peer: g.peer,
		local: Address{Carrier: g.carrier}, closed: make(chan struct{})}
	if g.carrier == Shm { // The socket that negotiates shared memory carries the bytes.
		conn.local.Carrier = Unix
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.foreigners[conn] = struct{}{}
	s.mu.Unlock()
	_ = conn.SetDeadline(time.Time{})
	s.foreign(conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.foreigners, conn)
}

func (s *Server) allForeigners() (list []*foreignConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.foreigners {
		list = append(list, conn)
	}
	return list
}

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
// requires the protocol of the option [WithForeignProtocol]. The connection has a method Peer,
// which returns the server's credentials.
func DialForeign(ctx context.Context, address Address, opts ...DialOption) (net.Conn, error) {
	set, err := dialOptions(opts)
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
