package breezeway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// A Handler serves calls and one-way messages. Calls of different sessions run concurrently. Calls
// of one session run one after the other, unless the option [Offload] is set. If a handler returns
// an error without a reply, the call fails; a [*CallError] sets the code and the reason.
type Handler func(call *Call) error

// A StreamHandler serves a stream in a goroutine of its own. The stream is closed when the handler
// returns; see [Stream.Close].
type StreamHandler func(stream *Stream)

// A Server accepts and serves sessions. Set its fields before Listen.
type Server struct {
	// Handler serves calls and one-way messages. If it is nil, calls fail with CodeNoSuchMethod.
	Handler Handler
	// Streams serves streams. If it is nil, clients cannot open streams.
	Streams StreamHandler
	// Log receives sessions that end with an error and panics of handlers. The default is
	// slog.Default.
	Log *slog.Logger

	opts     *options
	tls      *tls.Config // nil without an address of tls:
	bound    []*bound
	offload  chan struct{}
	refusing chan struct{}
	// refused limits the refused connections that can be slow to close; closing counts the other
	// connections that can be.
	refused  chan struct{}
	closing  int
	mu       sync.Mutex
	sessions map[*session]struct{}
	// pending holds connections that are not yet sessions, and halfOpen those of them whose hello
	// is incomplete. admitted counts the rest of pending, and sessions.
	pending  map[net.Conn]struct{}
	halfOpen *halfOpens
	admitted int
	users    map[segment.User]int
	memory   *segment.Ledger // nil without a limit
	// draining is true once no new session is taken, stopped once the sockets no longer listen,
	// closed once all sessions are being closed.
	draining, stopped, closed bool
	// handedOver is true once a successor serves. Clients that have reached this server are still
	// served.
	handedOver bool
	succession *succession // nil without TakeOver
	accepting  sync.WaitGroup
	// failed, if set, receives the error that ended listening, unless the server was closed.
	failed func(error)
	// foreign serves a client of another protocol until its connection is closed; such clients are
	// refused if it is nil. foreigners are the connections that it serves.
	foreign    func(conn *foreignConn)
	foreigners map[*foreignConn]struct{}
	// leaving is true if each session is closed once nothing is in flight on it.
	leaving bool
	served  sync.WaitGroup
	idle    chan struct{}
}

// Listen returns a server that listens at addresses, separated by commas. Serve serves its clients.
func Listen(addresses string, handler Handler, opts ...Option) (*Server, error) {
	s := &Server{Handler: handler}
	return s, s.Listen(addresses, opts...)
}

// Listen binds the addresses. Clients can connect when it returns.
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
	s.foreigners = map[*foreignConn]struct{}{}
	s.users, s.halfOpen = map[segment.User]int{}, newHalfOpens()
	s.refusing = make(chan struct{}, refusedAtOnce)
	s.refused = make(chan struct{}, slowAtOnce)
	s.idle = make(chan struct{})
	if hasTLS(list) {
		if s.tls, err = s.opts.tlsConfig(false); err != nil {
			return err
		}
		if s.foreign != nil && s.opts.foreign != "" {
			s.tls.NextProtos = append(s.tls.NextProtos, s.opts.foreign)
		}
	}
	if s.opts.limitsMemory() && slices.ContainsFunc(list, isShm) {
		if s.memory, err = segment.NewLedger(s.opts.maxMemory, s.opts.memoryOfUser); err != nil {
			return fmt.Errorf("breezeway: %w", err)
		}
	}
	room := descriptorsOfSession*s.opts.maxSessions + s.halfOpen.most
	if err := segment.MakeRoom(room); err != nil {
		s.Log.Warn("no room for as many descriptors as clients may need", "error", err)
	}
	if s.opts.takeOver {
		return s.takeOver(list)
	}
	for _, address := range list {
		b, err := bind(address, s.opts.socketMode)
		if err != nil {
			s.unbind()
			s.bound = nil // By now another server may own the paths.
			return fmt.Errorf("breezeway: listen at %v: %w", address, err)
		}
		s.bound = append(s.bound, b)
	}
	return nil
}

func isShm(a Address) bool { return a.Carrier == Shm }

func hasTLS(list []Address) bool {
	return slices.ContainsFunc(list, func(a Address) bool { return a.Carrier == TLS })
}

// unbind stops listening, and returns a channel that is closed once the sockets are.
func (s *Server) unbind() <-chan struct{} {
	var closing sync.WaitGroup
	for _, b := range s.bound {
		b.close(&closing)
	}
	closed := make(chan struct{})
	go func() {
		closing.Wait()
		close(closed)
	}()
	return closed
}

// Addresses returns the addresses of the server. A port 0 is replaced by the chosen one.
func (s *Server) Addresses() []Address {
	var list []Address
	for _, b := range s.bound {
		list = append(list, b.address)
	}
	return list
}

// Serve serves until Close, Shutdown or, with the option [TakeOver], until a successor serves and
// all clients have moved there. It then returns ErrServerClosed. If the server can no longer
// listen, Serve logs the error, asks its clients to leave, and returns the error once they have. No
// handler of a call runs when Serve returns. Handlers of streams may still run; their sessions have
// ended.
func (s *Server) Serve() error {
	if s.succession != nil {
		if err := s.begin(); err != nil {
			_ = s.Close()
			return err
		}
		go s.answerSuccessors()
	}
	failures := make(chan error, len(s.bound))
	s.accepting.Add(len(s.bound))
	for _, b := range s.bound {
		go func(b *bound) {
			defer s.accepting.Done()
			failures <- s.acceptOn(b)
		}(b)
	}
	var first error
	for range s.bound {
		if err := <-failures; first == nil {
			first = err
			s.stopListening()
			s.leaveAfter(err)
		}
	}
	<-s.idle
	s.served.Wait()
	return first
}

// leaveAfter asks the clients to leave after an error has ended listening.
func (s *Server) leaveAfter(err error) {
	if errors.Is(err, ErrServerClosed) {
		return
	}
	s.Log.Error("breezeway: the server cannot listen any more", "error", err)
	if s.failed != nil {
		s.failed(err)
	}
	s.sendAway()
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
		if reason := s.enter(conn); reason != nil {
			s.refuseBusy(conn, b.address.Carrier, reason)
			continue
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
	if victim := s.halfOpen.add(conn, from); victim != nil {
		pushedOut.Add(1)
		shutDown(victim)
	}
	return nil
}

// hasRoom returns an error if another session finds no room. The lock is held.
func (s *Server) hasRoom() error {
	if s.admitted+s.closing >= s.opts.maxSessions {
		return fmt.Errorf("the server has its %d sessions (option MaxSessions)", s.opts.maxSessions)
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
		s.Log.Debug("breezeway: no session", "error", err)
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
	g, err := meet(conn, carrier, s.opts, s.tls, false)
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

// userOf returns the user for whom MaxSessionsOfUser and MaxMemoryOfUser count p.
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
		return fmt.Errorf("sessions of this user open: %d; the server's option MaxSessionsOfUser "+
			"allows no more", limit)
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

func (s *Server) serveSession(session *session) {
	if s.opts.onStart != nil {
		s.opts.onStart(session.peer)
	}
	if s.opts.offload > 0 {
		s.read(session, new([64]pace))
		return
	}
	err := errHandlerExited
	defer func() {
		if errors.Is(err, errHandlerExited) {
			session.mu.Lock()
			session.finish(err)
			session.mu.Unlock()
		}
		s.sessionOver(session, err)
	}()
	err = s.loop(session, nil)
}

// errHandlerExited ends the session of a handler without Offload that has called runtime.Goexit:
// its goroutine would read the session.
var errHandlerExited = errors.New("breezeway: the handler has ended its session's goroutine")

// read serves the arrivals of a session until its end, or until another goroutine reads it.
func (s *Server) read(session *session, paces *[64]pace) {
	inline := s.newInlineRunner(session, paces)
	err := s.loop(session, inline)
	inline.stop()
	if !errors.Is(err, errHandedOver) {
		s.sessionOver(session, err)
	}
}

// sessionOver records the end of a session, and calls OnSessionEnd.
func (s *Server) sessionOver(session *session, err error) {
	s.dismissOnceGone(session)
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

// loop serves the arrivals of a session until it ends, or returns errHandedOver.
func (s *Server) loop(session *session, inline *inlineRunner) error {
	call := new(Call)
	for {
		if err := session.nextArrived(&limit{}, &call.arrival); err != nil {
			return err
		}
		switch stream := call.stream; {
		case stream != nil && !session.beginStream():
			stream.Reset(CodeOverloaded)
			_ = stream.Close()
		case stream != nil:
			go s.serveStream(stream)
			runtime.Gosched() // Otherwise the handler waits until another P has woken.
		case s.opts.offload == 0:
			s.run(session.newCall(call))
		default:
			if !inline.serve(session.newCall(call)) {
				return errHandedOver
			}
			call = new(Call)
		}
	}
}

// newCall prepares call, which holds an arrival, for its handler.
func (s *session) newCall(call *Call) *Call {
	call.session = s
	call.replied, call.sent, call.ctx, call.cancel = false, false, nil, nil
	return call
}

// run serves a call. If the handler calls runtime.Goexit, the call fails.
func (s *Server) run(call *Call) {
	var err error
	defer func() { call.end(err) }()
	err = s.handle(call)
}

// handle runs the handler. A panic fails its call only.
func (s *Server) handle(call *Call) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			s.Log.Error("breezeway: a handler panicked", "reason", reason, "stack",
				string(debug.Stack()))
			err = &CallError{CodePanicked, "the handler panicked"}
		}
	}()
	if s.Handler == nil {
		return &CallError{CodeNoSuchMethod, "no calls are served here"}
	}
	return s.Handler(call)
}

// waitForHandler waits until another handler may run. Running handlers may wait for the end of
// their contexts, so this session's goroutine reads the session while it waits.
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
	// The session's end ends this wait, but not the wait for a handler.
	_ = session.wait(w, &limit{}, func() bool { return has })
	if !has {
		session.mu.Unlock()
		<-granted
		session.mu.Lock()
	}
	session.freeWaiter(w)
}

// begin registers a call, so that it can be cancelled.
func (s *session) begin(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case call.IsOneWay():
	case s.err != nil || s.rules.Ending.IsGone():
		call.cancel(s.endError())
	default:
		s.serving[call.head.Stream] = call
	}
}

func (s *session) beginStream() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules.Served.BeginStream()
}

func (s *session) streamServed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules.Served.StreamServed()
}

func (s *Server) serveStream(stream *Stream) {
	defer stream.session.streamServed()
	defer stream.Close()
	hasReturned := false
	defer func() {
		if reason := recover(); reason != nil {
			s.Log.Error("breezeway: a stream's handler panicked", "reason", reason, "stack",
				string(debug.Stack()))
			stream.Reset(CodePanicked)
		} else if !hasReturned { // It has called runtime.Goexit.
			stream.Reset(CodeFailed)
		}
	}()
	s.Streams(stream)
	hasReturned = true
}

// ---- the end ----

// sendAway stops taking new sessions and asks all clients to begin nothing new here. Shutdown and
// leave call it before listening stops, so that a client that finds no listener has been asked
// before.
func (s *Server) sendAway() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	for _, session := range s.all() {
		session.goAway()
	}
}

func (s *Server) stopListening() {
	if closed := s.unlisten(); closed != nil {
		waitAMoment(closed)
	}
}

// unlisten returns a channel that is closed once the sockets are, or nil if an earlier call has
// stopped listening.
func (s *Server) unlisten() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	if s.stopped {
		return nil
	}
	s.stopped = true
	closed := s.unbind()
	if s.succession != nil {
		s.succession.end()
	}
	for conn := range s.pending {
		if !s.handedOver {
			_ = conn.SetDeadline(longAgo)
		}
	}
	close(s.idle)
	return closed
}

func (s *Server) all() (list []*session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.sessions {
		list = append(list, session)
	}
	return list
}

// Close stops listening and closes all sessions in order. Calls that are being served are replied
// to if their handlers return within ReplyTimeout. Shutdown waits longer.
func (s *Server) Close() error {
	if s.idle == nil { // The server never listened.
		return nil
	}
	s.closeSessions(s.opts.replyTimeout)
	return nil
}

// closeSessions closes each session once its calls were replied to, or after patience.
func (s *Server) closeSessions(patience time.Duration) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stopListening()
	until := time.Now().Add(patience)
	var closing sync.WaitGroup
	for _, conn := range s.allForeigners() {
		_ = conn.Close()
	}
	for _, session := range s.all() {
		closing.Add(1)
		go func() { // A client that reads nothing does not delay the farewell of others.
			defer closing.Done()
			session.refuseRest()
			session.finishCalls(until)
			session.close()
		}()
	}
	closing.Wait()
}

// finishCalls stops taking up requests, and waits until those taken up before are replied to.
func (s *session) finishCalls(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules.Served.Stop()
	areOver := func() bool { return s.rules.Served.Running() == 0 }
	_ = s.waitUntil(areOver, limit{deadline: until})
}

// refuseRest fails the calls that were not begun. They never run.
func (s *session) refuseRest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules.HasSentAway() && s.err == nil {
		s.takeTurns(catchUpTurns, false)
	}
	for s.rules.HasSentAway() && s.err == nil && s.hasArrival() {
		var a arrival
		s.nextArrival(&a)
		a.message.Release()
		if refusal, is := a.head.Refusal(); is {
			_ = s.transmit(refusal, &outgoing{bytes: []byte("the server goes away")})
			s.rules.Served.CallEnded(a.head.Stream)
		}
	}
}

// leave stops listening, asks all clients to begin nothing new here, and closes each session once
// nothing is in flight on it.
func (s *Server) leave() {
	s.mu.Lock()
	first := !s.leaving && !s.closed
	s.leaving = true
	s.mu.Unlock()
	s.sendAway()
	s.stopListening()
	if !first {
		return
	}
	for _, session := range s.all() {
		go session.closeOnceIdle()
	}
}

// Shutdown stops listening, asks all clients to begin nothing new here, and waits until they have
// closed their sessions. When ctx ends it closes those that are left. Handlers of streams may still
// run when it returns.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.idle == nil {
		return nil
	}
	s.sendAway()
	s.stopListening()
	return s.closeOnceServed(ctx)
}

// leaveToSuccessor serves the clients of a server that has a successor until they have moved.
func (s *Server) leaveToSuccessor() {
	s.stopListening()
	s.sendAway()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.drainTimeout)
	defer cancel()
	if s.closeOnceServed(ctx) != nil {
		s.Log.Warn("breezeway: clients were left past the time to drain (option DrainTimeout)")
	}
}

// closeOnceServed waits until all sessions have ended. When ctx ends it closes those that are left.
func (s *Server) closeOnceServed(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		s.accepting.Wait()
		s.served.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.closeSessions(0)
	return err
}

// goAway asks a client that supports it to begin nothing new, once.
func (s *session) goAway() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.rules.GoAway()
		s.settle()
	}
}
