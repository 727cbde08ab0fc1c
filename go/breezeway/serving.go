package breezeway

import (
	"errors"
	"runtime"
	"runtime/debug"
)

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
		s.log.Info("breezeway: a session ended", "error", err, "uid", session.peer.UID, "pid",
			session.peer.PID)
	}
	if s.opts.onEnd != nil {
		s.opts.onEnd(session.peer, err)
	}
}

// loop serves the arrivals of a session until it ends, or returns errHandedOver.
func (s *Server) loop(session *session, inline *inlineRunner) error {
	call := session.renewed(new(Call))
	for {
		if err := session.nextArrived(&limit{}, &call.arrival, call); err != nil {
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
			s.run(call)
			session.renewed(call)
		default:
			if !inline.serve(call) {
				return errHandedOver
			}
			call = session.renewed(new(Call))
		}
	}
}

// renewed makes a call ready for the next arrival.
func (s *session) renewed(call *Call) *Call {
	call.session, call.replied, call.sent = s, false, false
	call.ctx = s.newContext(call)
	return call
}

// run serves a call. If the handler calls runtime.Goexit, the call fails.
func (s *Server) run(call *Call) {
	var err error
	defer func() { call.end(err) }()
	err = s.handle(call)
	if err != nil && call.IsOneWay() && s.handler != nil {
		s.log.Warn("breezeway: a handler of a one-way message failed", "method", call.Method(),
			"error", err)
	}
}

// handle runs the handler. A panic fails its call only.
func (s *Server) handle(call *Call) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			s.log.Error("breezeway: a handler panicked", "reason", reason, "stack",
				string(debug.Stack()))
			err = &CallError{CodePanicked, "the handler panicked"}
		}
	}()
	if s.handler == nil {
		return &CallError{CodeNoSuchMethod, "no calls are served here"}
	}
	return s.handler(call.ctx, call)
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
	if !call.IsOneWay() && s.err == nil && !s.rules.Ending.IsGone() {
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
			s.log.Error("breezeway: a stream's handler panicked", "reason", reason, "stack",
				string(debug.Stack()))
			stream.Reset(CodePanicked)
		} else if !hasReturned { // It has called runtime.Goexit.
			stream.Reset(CodeFailed)
		}
	}()
	s.streams(stream.Context(), stream)
	hasReturned = true
}
