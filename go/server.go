package breezeway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/internal/abi"
)

// A Handler serves calls and one-way messages. Calls of different sessions are served at the same
// time, those of one session one after the other, unless the option Offload is set. The error of a
// call that was not replied to fails it: with its code and reason if it is a *CallError.
type Handler func(call *Call) error

// A StreamHandler serves a stream, in a goroutine of its own. When it returns, the stream is
// closed: see Stream.Close.
type StreamHandler func(stream *Stream)

// A Server serves sessions. Its fields are set before Listen.
type Server struct {
	Handler Handler
	// Streams serves streams; without it clients cannot open any.
	Streams StreamHandler
	// Log is told of sessions that end with an error, and of handlers that panic. Default:
	// slog.Default.
	Log *slog.Logger

	opts     *options
	bound    []*bound
	offload  chan struct{}
	mu       sync.Mutex
	sessions map[*session]struct{}
	pending  map[net.Conn]struct{}
	closed   bool
	draining bool
	served   sync.WaitGroup
	idle     chan struct{}
}

// Listen makes a server that listens at addresses, separated by commas, and serves once Serve runs.
func Listen(addresses string, handler Handler, opts ...Option) (*Server, error) {
	s := &Server{Handler: handler}
	return s, s.Listen(addresses, opts...)
}

// Listen binds the addresses, which are connectable from then on.
func (s *Server) Listen(addresses string, opts ...Option) error {
	list, err := ParseAddresses(addresses)
	if err != nil {
		return err
	}
	if s.opts, err = newOptions(opts); err != nil {
		return err
	}
	if s.Streams == nil {
		s.opts.maxStreams = 0
	}
	if s.Log == nil {
		s.Log = slog.Default()
	}
	s.offload = make(chan struct{}, s.opts.offload)
	s.sessions, s.pending = map[*session]struct{}{}, map[net.Conn]struct{}{}
	s.idle = make(chan struct{})
	for _, address := range list {
		b, err := bind(address, s.opts.socketMode)
		if err != nil {
			s.unbind()
			return fmt.Errorf("breezeway: listen at %v: %w", address, err)
		}
		s.bound = append(s.bound, b)
	}
	return nil
}

func (s *Server) unbind() {
	for _, b := range s.bound {
		b.close()
	}
}

// Addresses are where it listens; a port 0 is the one that was found.
func (s *Server) Addresses() []Address {
	var list []Address
	for _, b := range s.bound {
		list = append(list, b.address)
	}
	return list
}

// Serve serves until Close or Shutdown, and returns ErrServerClosed then.
func (s *Server) Serve() error {
	failures := make(chan error, len(s.bound))
	for _, b := range s.bound {
		go func(b *bound) { failures <- s.acceptOn(b) }(b)
	}
	var first error
	for range s.bound {
		if err := <-failures; first == nil {
			first = err
			s.stopListening()
		}
	}
	<-s.idle
	s.served.Wait()
	return first
}

func (s *Server) acceptOn(b *bound) error {
	for {
		conn, err := b.socket.Accept()
		if err != nil {
			if s.isClosed() {
				return ErrServerClosed
			}
			if pause(err) {
				continue
			}
			return err
		}
		s.served.Add(1)
		go func() {
			defer s.served.Done()
			s.serveConn(conn, b.address.Carrier)
		}()
	}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || s.draining
}

// enter notes a connection, or says why it is refused.
func (s *Server) enter(conn net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.draining {
		return ErrServerClosed
	}
	if len(s.sessions)+len(s.pending) >= s.opts.maxSessions {
		return fmt.Errorf("the server has its %d sessions (option MaxSessions)", s.opts.maxSessions)
	}
	s.pending[conn] = struct{}{}
	return nil
}

func (s *Server) serveConn(conn net.Conn, carrier Carrier) {
	if err := s.enter(conn); err != nil {
		refuse(conn, abi.RefusedBusy, err.Error())
		_ = conn.Close()
		return
	}
	session, err := s.greet(conn, carrier)
	s.mu.Lock()
	delete(s.pending, conn)
	gone, draining := s.closed, s.draining
	if err == nil && !gone {
		s.sessions[session] = struct{}{}
	}
	s.mu.Unlock()
	if err != nil || gone {
		if err == nil {
			session.close()
		}
		s.Log.Debug("breezeway: no session", "error", err)
		_ = conn.Close()
		return
	}
	if draining { // Shutdown may have told all others already.
		session.goAway()
	}
	s.serveSession(session)
}

func (s *Server) greet(conn net.Conn, carrier Carrier) (*session, error) {
	raw, err := rawConn(conn)
	if err != nil {
		return nil, err
	}
	peer := Peer{}
	if carrier != TCP {
		if peer, err = peerOf(raw); err != nil {
			return nil, err
		}
	}
	if err := s.opts.authorize(peer); err != nil {
		refuse(conn, abi.RefusedDenied, err.Error())
		return nil, err
	}
	agreed, err := accept(conn, carrier, s.opts)
	if err != nil {
		return nil, err
	}
	return newSession(agreed, conn, raw, peer, s.opts, false)
}

func (s *Server) serveSession(session *session) {
	if s.opts.onStart != nil {
		s.opts.onStart(session.peer)
	}
	if s.opts.offload > 0 {
		session.serving = map[uint32]*Call{}
	}
	err := s.loop(session)
	s.mu.Lock()
	delete(s.sessions, session)
	s.mu.Unlock()
	if inOrder(err) {
		err = nil
	} else {
		s.Log.Info("breezeway: a session ended", "error", err, "uid", session.peer.UID, "pid",
			session.peer.PID)
	}
	if s.opts.onEnd != nil {
		s.opts.onEnd(session.peer, err)
	}
}

// loop serves what arrives until the session is over.
func (s *Server) loop(session *session) error {
	call := new(Call)
	for {
		a, err := session.nextArrived(limit{})
		if err != nil {
			return err
		}
		switch {
		case a.stream != nil && session.servedStreams.Load() >= 2*int64(session.ownHello.MaxStreams):
			// The client opens and resets them faster than their handlers end.
			a.stream.Reset(CodeOverloaded)
			_ = a.stream.Close()
		case a.stream != nil:
			session.servedStreams.Add(1)
			go s.serveStream(a.stream)
		case s.opts.offload > 0:
			s.runOffloaded(session.newCall(new(Call), a))
		default:
			s.run(session.newCall(call, a))
		}
	}
}

func (s *session) newCall(call *Call, a arrival) *Call {
	*call = Call{session: s, head: a.head, request: a.message, deadline: deadlineOf(a.head.Time)}
	return call
}

func (s *Server) run(call *Call) {
	call.end(s.handle(call))
}

// handle runs the handler. One that panics fails its call, and nothing else.
func (s *Server) handle(call *Call) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			s.Log.Error("breezeway: a handler panicked", "reason", reason, "stack", string(debug.Stack()))
			err = &CallError{CodePanicked, "the handler panicked"}
		}
	}()
	return s.Handler(call)
}

func (s *Server) runOffloaded(call *Call) {
	call.makeContext()
	call.session.begin(call)
	s.waitForHandler(call.session)
	s.served.Add(1)
	go func() {
		defer s.served.Done()
		s.run(call)
		<-s.offload
	}()
}

// waitForHandler waits until one more handler may run. Those that run may wait for the end of their
// contexts, which this session's goroutine reads meanwhile.
func (s *Server) waitForHandler(session *session) {
	select {
	case s.offload <- struct{}{}:
		return
	default:
	}
	session.mu.Lock()
	defer session.mu.Unlock()
	w, has := session.newWaiter(), false
	granted := make(chan struct{})
	go func() {
		s.offload <- struct{}{}
		session.mu.Lock()
		defer session.mu.Unlock()
		has = true
		w.wake()
		session.interrupt()
		close(granted)
	}()
	// The session's end ends this wait, but not that for a handler.
	_ = session.wait(w, limit{}, func() bool { return has })
	if !has {
		session.mu.Unlock()
		<-granted
		session.mu.Lock()
	}
	session.freeWaiter(w)
}

// begin notes a call, so that it can be cancelled.
func (s *session) begin(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch over := cmp.Or(s.err, s.ending); {
	case call.IsOneWay():
	case over != nil:
		call.cancel(over)
	default:
		s.serving[call.head.Stream] = call
	}
}

func (s *Server) serveStream(stream *Stream) {
	defer stream.session.servedStreams.Add(-1)
	defer stream.Close()
	defer func() {
		if reason := recover(); reason != nil {
			s.Log.Error("breezeway: a stream's handler panicked", "reason", reason, "stack",
				string(debug.Stack()))
			stream.Reset(CodePanicked)
		}
	}()
	s.Streams(stream)
}

// ---- the end ----

func (s *Server) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return
	}
	s.draining = true
	s.unbind()
	for conn := range s.pending {
		_ = conn.SetDeadline(longAgo)
	}
	close(s.idle)
}

func (s *Server) all() (list []*session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.sessions {
		list = append(list, session)
	}
	return list
}

// Close ends listening and all sessions, in order: calls that are being served are replied to.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stopListening()
	for _, session := range s.all() {
		session.close()
	}
	return nil
}

// Shutdown ends listening, tells all clients to begin nothing new here, and waits until they have
// closed their sessions; then, or when the context is done, it closes those that are left.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopListening()
	for _, session := range s.all() {
		session.goAway()
	}
	done := make(chan struct{})
	go func() {
		s.served.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return errors.Join(err, s.Close())
}

// goAway tells a client that takes it to begin nothing new, once.
func (s *session) goAway() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.told || !s.peerHello.TakesGoAway() {
		return
	}
	if s.transmit(abi.Head{Kind: abi.KindGoAway}, &outgoing{}) == nil {
		s.told = true
		s.flush()
	}
}
