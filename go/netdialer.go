package breezeway

import (
	"context"
	"net"
)

// A NetDialer opens connections to a NetListener, any number on one session, which is dialled with
// the first of them, and again once it is over or its server goes away. A session whose server goes
// away is closed when the last connection on it has ended.
type NetDialer struct{ sessions sharing }

// NewNetDialer gives a dialer of the first of the addresses, separated by commas, that can be had.
func NewNetDialer(addresses string, opts ...Option) *NetDialer {
	return &NetDialer{sharing{addresses: addresses, opts: opts}}
}

// Dial opens a connection. An error that concerns this one alone, as that of a context which is
// done while the other side has its MaxStreams, leaves those that are open as they are.
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

// Close closes its sessions, with the connections that are open on them. Dial gives net.ErrClosed
// from then on.
func (d *NetDialer) Close() error {
	d.sessions.close()
	return nil
}
