package breezeway

import (
	"context"
	"errors"
	"net"
	"sync"
)

// A NetDialer opens connections to a NetListener, any number on one session, which is dialled with
// the first of them, and again once it is over. It has no Close: its session ends with the process
// or with the server, and one whose server goes away when that server closes it.
type NetDialer struct {
	addresses string
	opts      []Option

	mu      sync.Mutex
	session *Conn
	dialing chan struct{} // closed once the Dial that is under way has ended
}

// NewNetDialer gives a dialer of the first of the addresses, separated by commas, that can be had.
func NewNetDialer(addresses string, opts ...Option) *NetDialer {
	return &NetDialer{addresses: addresses, opts: opts}
}

// Dial opens a connection. An error that concerns this one alone, as that of a context which is done
// while the other side has its MaxStreams, leaves those that are open as they are.
func (d *NetDialer) Dial(ctx context.Context) (net.Conn, error) {
	for {
		session, isNew, err := d.get(ctx)
		if err != nil {
			return nil, err
		}
		session.session.catchUp() // Of an idle session, nobody else sees that it is over.
		conn, err := session.DialNet(ctx)
		if err == nil {
			return conn, nil
		}
		if session.Err() == nil && !errors.Is(err, ErrGoingAway) {
			return nil, err
		}
		// What is open on one that goes away may come to its end.
		d.forget(session)
		if isNew || ctx.Err() != nil {
			return nil, err
		}
	}
}

// get gives the session, and whether it is one that this call has dialled. The lock is not held
// meanwhile: who waits here has a context of its own.
func (d *NetDialer) get(ctx context.Context) (session *Conn, isNew bool, err error) {
	for {
		d.mu.Lock()
		session, dialing := d.session, d.dialing
		if session == nil && dialing == nil {
			d.dialing = make(chan struct{})
		}
		d.mu.Unlock()
		switch {
		case session != nil:
			return session, false, nil
		case dialing == nil:
			session, err := Dial(ctx, d.addresses, d.opts...)
			d.mu.Lock()
			close(d.dialing)
			d.session, d.dialing = session, nil
			d.mu.Unlock()
			return session, true, err
		}
		select {
		case <-dialing:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

func (d *NetDialer) forget(session *Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session == session {
		d.session = nil
	}
}
