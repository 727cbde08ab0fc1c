package breezeway

import (
	"container/list"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// enter adds a connection to pending, or returns the reason why it is refused.
func (s *Server) enter(conn net.Conn) error {
	from := sourceOf(conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.halfOpen.isFull() {
		// Other clients have sent a hello that was not read yet.
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
	}
	if s.closed || s.draining && !s.handedOver {
		return ErrServerClosed
	}
	if err := s.hasRoom(); err != nil {
		return err
	}
	s.pending[conn] = struct{}{}
	s.limitHandshake(conn)
	if victim := s.halfOpen.add(conn, from); victim != nil {
		pushedOut.Add(1)
		shutDown(victim)
	}
	return nil
}

// hasRoom returns an error if another session finds no room. The lock is held.
func (s *Server) hasRoom() error {
	if s.admitted+s.closing >= s.opts.maxSessions {
		return fmt.Errorf("the server has its %d sessions (option WithMaxSessions)",
			s.opts.maxSessions)
	}
	return nil
}

// serveConn serves a connection that has entered.
func (s *Server) serveConn(conn net.Conn, carrier Carrier) {
	session, g, err := s.greet(conn, carrier)
	s.mu.Lock()
	delete(s.pending, conn)
	s.halfOpen.remove(conn)
	gone, draining, leaving := s.closed, s.draining, s.leaving
	stopped := s.stopped && !s.handedOver
	if session != nil && !gone {
		s.sessions[session] = struct{}{}
	}
	s.mu.Unlock()
	if session == nil && err == nil {
		s.serveForeign(g)
		s.closeRefused(conn, nil)
		s.dismiss(g.peer, carrier)
		return
	}
	if err != nil {
		// A server that has stopped allows no client the whole time.
		if stopped && errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("breezeway: the server stopped before the hello: %w", err)
		} else {
			err = s.opts.explained(err)
		}
		s.log.Debug("breezeway: no session", "error", err)
		s.closeRefused(conn, g.refused)
		return
	}
	if gone {
		session.close()
		s.dismissOnceGone(session)
		return
	}
	if draining { // Shutdown may already have visited all other sessions.
		session.goAway()
	}
	if leaving {
		go session.closeOnceIdle()
	}
	s.serveSession(session)
}

// closeRefused closes a connection that has not become a session, and the received descriptors that
// were not taken. A connection that can be slow to close counts against MaxSessions until it is
// closed.
func (s *Server) closeRefused(conn net.Conn, refused []int) {
	if len(refused) == 0 && !isSlowToClose(conn) {
		_ = conn.Close()
		return
	}
	s.mu.Lock()
	s.closing++
	s.mu.Unlock()
	closed := make(chan struct{})
	closeApart(conn, refused, closed)
	s.waitFor(closed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing--
}

// waitFor waits until a connection is closed, but not for long past the server's end, so that slow
// ones count against MaxSessions.
func (s *Server) waitFor(closed <-chan struct{}) {
	select {
	case <-closed:
	case <-s.idle:
		waitAMoment(closed)
	}
}

// greet performs the handshake and returns the session. For an admitted client of another protocol
// it returns neither a session nor an error.
func (s *Server) greet(conn net.Conn, carrier Carrier) (*session, greeting, error) {
	g, err := meet(conn, carrier, s.tls, false)
	if err != nil {
		return nil, greeting{}, err
	}
	if err := s.opts.authorize(g.peer); err != nil {
		refuse(g.speaks(), proto.RefusedDenied, err.Error())
		return nil, *g, err
	}
	s.mu.Lock()
	err = s.objection(g)
	s.mu.Unlock()
	if err != nil {
		refuse(g.speaks(), proto.RefusedBusy, err.Error())
		return nil, *g, err
	}
	s.limitHello(g)
	agreed, err := hear(g, s.opts)
	if err != nil && s.isForeign(g, err) {
		return nil, *g, s.admit(g)
	}
	if err != nil {
		return nil, *g, err
	}
	if err := s.admit(g); err != nil {
		agreed.drop()
		refuse(g.speaks(), proto.RefusedBusy, err.Error())
		return nil, *g, err
	}
	session, err := s.begun(g, agreed)
	if err != nil {
		s.dismiss(g.peer, carrier)
		return nil, *g, err
	}
	return session, *g, nil
}

// limitHandshake begins the time that a client has for its part of the handshake. A server that has
// stopped gives it a moment, so that an honest client still gets its session. The lock is held.
func (s *Server) limitHandshake(conn net.Conn) {
	limit := s.opts.handshakeTimeout
	if s.stopped && !s.handedOver {
		limit = min(limit, linger)
	}
	_ = conn.SetDeadline(time.Now().Add(limit))
}

// limitHello begins the time that a client has for its hello. Where another protocol is served, the
// hello's first bytes begin it, as the client may have connected ahead of its first call. A server
// that no longer listens does not wait for such clients.
func (s *Server) limitHello(g *greeting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.takesForeign() || s.stopped {
		s.limitHandshake(g.conn)
		return
	}
	_ = g.conn.SetDeadline(time.Time{})
	g.begun = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.halfOpen.renew(g.conn)
		s.limitHandshake(g.conn)
	}
}

// begun answers the hello of an admitted client and returns its session.
func (s *Server) begun(g *greeting, agreed *agreement) (session *session, err error) {
	exit := uint64(0)
	if g.carrier == Shm || g.carrier == Unix {
		if exit, err = everyExit.watch(g.raw); err != nil {
			agreed.drop()
			refuse(g.speaks(), proto.RefusedNoMemory, err.Error())
			return nil, err
		}
		defer func() {
			if err != nil {
				everyExit.forget(exit)
			}
		}()
	}
	agreed.account = segment.Account{Ledger: s.memory, User: userOf(g.peer)}
	if err = agreed.answer(g); err != nil {
		return nil, err
	}
	session, err = newSession(agreed, g.conn, g.raw, g.peer, s.opts, false)
	if err != nil {
		return nil, err
	}
	if s.opts.offload > 0 {
		session.serving = map[uint32]*Call{}
	}
	everyExit.tellOf(exit, session)
	return session, nil
}

// descriptorsOfSession counts a session's socket and the descriptor that reports the end of its
// client's process.
const descriptorsOfSession = 2

// userOf returns the user for whom WithMaxSessionsOfUser and WithMaxMemoryOfUser count p.
func userOf(p Peer) segment.User {
	if !p.Known {
		return segment.User{}
	}
	return segment.User{Known: true, UID: p.UID}
}

// objection returns an error if a client's session finds no room. The lock is held.
func (s *Server) objection(g *greeting) error {
	if err := s.hasRoom(); err != nil {
		return err
	}
	limit := s.opts.sessionsOfUser
	if limit > 0 && !g.carrier.isRemote() && s.users[userOf(g.peer)] >= limit {
		return fmt.Errorf("sessions of this user open: %d; the server's option "+
			"WithMaxSessionsOfUser allows no more", limit)
	}
	return nil
}

// admit counts the session of a client after its hello, or returns an error if it finds no room.
func (s *Server) admit(g *greeting) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.objection(g); err != nil {
		return err
	}
	if !s.halfOpen.remove(g.conn) {
		return errPushedOut
	}
	s.admitted++
	if !g.carrier.isRemote() {
		s.users[userOf(g.peer)]++
	}
	return nil
}

// dismissOnceGone dismisses a session that has ended once its connection is closed.
func (s *Server) dismissOnceGone(session *session) {
	s.waitFor(session.gone)
	s.mu.Lock()
	delete(s.sessions, session)
	s.mu.Unlock()
	s.dismiss(session.peer, session.link.carrier())
}

// dismiss reverts admit.
func (s *Server) dismiss(p Peer, carrier Carrier) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitted--
	if carrier.isRemote() {
		return
	}
	if of := userOf(p); s.users[of] > 1 {
		s.users[of]--
	} else {
		delete(s.users, of)
	}
}

// maxHalfOpen is more connections than are accepted in the milliseconds that an honest client takes
// for its hello.
const maxHalfOpen = 1024

var errPushedOut = errors.New("breezeway: its hello was not complete when the server had too " +
	"many such clients")

// A source is the user, or over TCP the host, that a connection is accounted to.
type source struct {
	user segment.User
	host netip.Addr
}

func sourceOf(conn net.Conn) source {
	if remote, is := conn.RemoteAddr().(*net.TCPAddr); is {
		return source{host: hostOf(remote.AddrPort().Addr())}
	}
	raw, err := rawConn(conn)
	if err != nil {
		return source{}
	}
	peer, _ := peerOf(raw)
	return source{user: userOf(peer)}
}

// hostOf returns the host of an address. For IPv6 it is the 64-bit network, since a host may use
// any address of it.
func hostOf(address netip.Addr) netip.Addr {
	address = address.Unmap()
	if address.Is6() {
		network, _ := address.WithZone("").Prefix(64)
		return network.Addr()
	}
	return address
}

// halfOpens holds the connections of a server's clients with an incomplete hello. Their number is
// limited. One more pushes out the oldest connection of the source with the most, so that no source
// excludes another. A client that has sent nothing stays among the oldest until its hello begins.
type halfOpens struct {
	most   int
	places map[net.Conn]place
	// sources holds the connections of each source, the oldest first.
	sources map[source]*list.List
}

type place struct {
	source  source
	element *list.Element
}

// newHalfOpens limits the connections to a quarter of the descriptors that this process may have.
func newHalfOpens() *halfOpens {
	most := maxHalfOpen
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		most = max(int(min(files.Cur/4, maxHalfOpen)), 1)
	}
	return &halfOpens{most: most, places: map[net.Conn]place{}, sources: map[source]*list.List{}}
}

func (h *halfOpens) isFull() bool { return len(h.places) >= h.most }

// add adds a connection, and returns the one that it pushes out, if any.
func (h *halfOpens) add(conn net.Conn, from source) (victim net.Conn) {
	if h.isFull() {
		victim = h.oldestOfLargest()
		h.remove(victim)
	}
	order := h.sources[from]
	if order == nil {
		order = list.New()
		h.sources[from] = order
	}
	h.places[conn] = place{from, order.PushBack(conn)}
	return victim
}

// remove removes a connection. It returns false if the connection was pushed out or removed before.
func (h *halfOpens) remove(conn net.Conn) bool {
	at, is := h.places[conn]
	if !is {
		return false
	}
	delete(h.places, conn)
	order := h.sources[at.source]
	if order.Remove(at.element); order.Len() == 0 {
		delete(h.sources, at.source)
	}
	return true
}

// renew makes a connection the youngest of its source.
func (h *halfOpens) renew(conn net.Conn) {
	if at, is := h.places[conn]; is {
		h.sources[at.source].MoveToBack(at.element)
	}
}

func (h *halfOpens) oldestOfLargest() net.Conn {
	var largest *list.List
	for _, order := range h.sources {
		if largest == nil || order.Len() > largest.Len() {
			largest = order
		}
	}
	return largest.Front().Value.(net.Conn)
}

// shutDown ends a connection. The goroutine that reads its hello closes it.
func shutDown(conn net.Conn) {
	if raw, err := rawConn(conn); err == nil {
		hangUp(raw)
	}
}
