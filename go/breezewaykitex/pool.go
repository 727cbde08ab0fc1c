package breezewaykitex

import (
	"context"
	"net"
	"slices"
	"sync"

	"github.com/cloudwego/kitex/pkg/remote"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// pool gives each call of a Kitex client something to be made on: all calls of an instance share a
// session.
type pool struct {
	opts []breezeway.DialOption

	mu       sync.Mutex
	sessions map[string]*session // by the addresses of the instance
	// instances holds the addresses of those that get calls; nil before they are known.
	instances []string
	closed    bool
}

// session is the session of an instance. Kitex closes a client that the program forgets, also below
// streams, and an instance may go away below calls too: the session is closed once they have ended.
type session struct {
	*breezeway.Client
	pool           *pool
	calls, streams int
	gone           bool // true once its instance has gone away
}

func newPool(opts []breezeway.DialOption) *pool {
	opts = append([]breezeway.DialOption{breezeway.WithService(wire.Number)}, opts...)
	return &pool{opts: opts, sessions: map[string]*session{}}
}

// of returns the session of the instance at addresses. The lock is held.
func (p *pool) of(addresses string) *session {
	s := p.sessions[addresses]
	if s == nil {
		s = &session{Client: breezeway.NewClient(addresses, p.opts...), pool: p}
		// A call may have chosen an instance just before it went away.
		if s.gone = p.hasLeft(addresses); !s.gone {
			p.sessions[addresses] = s
		}
		if p.closed {
			_ = s.Client.Close()
		}
	}
	return s
}

// beginStream returns the session for a stream, which ends with endStream.
func (p *pool) beginStream(addresses string) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(addresses)
	s.streams++
	return s
}

func (s *session) endStream() { s.end(&s.streams) }

// end counts a call or stream that is over.
func (s *session) end(count *int) {
	s.pool.mu.Lock()
	*count--
	isOver := s.isOver()
	s.pool.mu.Unlock()
	if isOver {
		_ = s.Client.Close()
	}
}

// isOver returns true for the session of a client that is closed or of an instance that has gone
// away, once nothing holds it. The lock is held.
func (s *session) isOver() bool {
	return s.streams == 0 && (s.pool.closed || s.gone && s.calls == 0)
}

// Get returns a call that is to be made. It dials nothing.
func (p *pool) Get(_ context.Context, network, address string, _ remote.ConnOption) (net.Conn,
	error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(address)
	s.calls++
	return &clientCall{session: s, noConn: noConn{network, address}}, nil
}

// Put lets go of a call that is over.
func (*pool) Put(call net.Conn) error { return call.Close() }

// Discard lets go of a call that failed, or has no reply.
func (*pool) Discard(call net.Conn) error { return call.Close() }

// hasLeft returns true for an instance that gets no more calls. The lock is held.
func (p *pool) hasLeft(address string) bool {
	return p.instances != nil && !slices.Contains(p.instances, address)
}

// keep lets go of all instances but these.
func (p *pool) keep(instances []string) {
	p.closeOver(func() {
		p.instances = instances
		for address, s := range p.sessions {
			s.gone = p.hasLeft(address)
		}
	})
}

// Close ends the sessions, with the calls in flight, once their streams have ended.
func (p *pool) Close() error {
	p.closeOver(func() { p.closed = true })
	return nil
}

// closeOver makes a change, and closes the sessions that are over by it.
func (p *pool) closeOver(change func()) {
	p.mu.Lock()
	change()
	var over []*session
	for address, s := range p.sessions {
		if s.isOver() {
			over = append(over, s)
		}
		if s.gone {
			delete(p.sessions, address)
		}
	}
	p.mu.Unlock()
	for _, s := range over {
		_ = s.Client.Close()
	}
}

// clientCall is one call: what Write has encoded, until Read makes the call.
type clientCall struct {
	noConn
	session  *session
	tag      uint32
	metadata []byte
	body     body
}

// Close frees what was encoded.
func (c *clientCall) Close() error {
	c.body.free()
	c.session.end(&c.session.calls)
	return nil
}

var _ remote.ConnPool = (*pool)(nil)
