package breezeway

import (
	"errors"
	"net"
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

// isForeign returns true if a client with a failed hello is to be served as one of another
// protocol. It keeps the client's first bytes.
func (s *Server) isForeign(g *greeting, failed error) bool {
	var hello *foreignError
	if s.foreign == nil || s.opts.foreign == "" || !errors.As(failed, &hello) ||
		len(g.refused) > 0 {
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
