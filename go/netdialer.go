package breezeway

import (
	"context"
	"net"
)

// A NetDialer opens connections to a [NetListener], any number on one session. It dials the session
// with the first connection, and a new one after the session has ended or its server goes away. If
// its server goes away, a session is closed when the last connection on it has ended.
type NetDialer struct{ sessions sharing }

// NewNetDialer returns a dialer for the given addresses, separated by commas. Each session uses the
// first reachable address.
func NewNetDialer(addresses string, opts ...Option) *NetDialer {
	return &NetDialer{sharing{addresses: addresses, opts: opts}}
}

// Dial opens a connection. An error that concerns only this connection, such as the end of ctx
// while the peer's MaxStreams is reached, does not affect open connections.
func (d *NetDialer) Dial(ctx context.Context) (conn net.Conn, err error) {
	err = d.sessions.try(ctx, func(session *Conn) (bool, error) {
		conn, err = session.DialNet(ctx)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// Close closes the dialer's sessions with the connections on them. Later calls of Dial fail with
// net.ErrClosed.
func (d *NetDialer) Close() error {
	d.sessions.close()
	return nil
}
