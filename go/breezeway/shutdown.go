package breezeway

import (
	"context"
	"sync"
	"time"
)

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
	deadline := longAgo
	if s.handedOver { // Those that have sent nothing may be waiting without one.
		deadline = time.Now().Add(s.opts.handshakeTimeout)
	}
	for conn := range s.pending {
		_ = conn.SetDeadline(deadline)
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

// Shutdown stops listening, asks all clients to begin nothing new here, and serves the requests
// that they have sent. Each session ends once its calls and streams have, an idle one at once. When
// ctx ends, Shutdown closes those that are left. Handlers of streams may still run when it returns.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.idle == nil {
		return nil
	}
	s.leave()
	return s.closeOnceServed(ctx)
}

// leaveToSuccessor serves the clients of a server that has a successor until they have moved.
func (s *Server) leaveToSuccessor() {
	s.stopListening()
	s.sendAway()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.drainTimeout)
	defer cancel()
	if s.closeOnceServed(ctx) != nil {
		s.log.Warn("breezeway: clients were left past the time to drain (option WithDrainTimeout)")
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
