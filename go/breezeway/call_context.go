package breezeway

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A callContext is the context of a call's handler. It becomes one of package context with its
// first use, so that a handler that does not use it costs next to nothing. It is not reused, since
// a handler may leave it to a goroutine that outlives the call.
type callContext struct {
	session *session
	call    *Call // valid while state is not isOver
	state   atomic.Int32
	made    atomic.Pointer[madeContext]
}

// States of a callContext. The session's lock guards the change from isUsed to isOver.
const (
	isUnused int32 = iota
	isUsed
	isOver
)

// A madeContext is a callContext in use.
type madeContext struct {
	context.Context
	cancel context.CancelCauseFunc
	// isObserved is set by the first caller that may wait for the end. From then on no method takes
	// the lock, which an operation of a session may hold that is given the context.
	isObserved atomic.Bool
	// reading has a goroutine read the session while the handler runs, if no other one does. reader
	// waits in that goroutine. The session's lock guards both.
	reading *time.Timer
	reader  *waiter
}

// contextsAtOnce is the number of contexts that are allocated together.
const contextsAtOnce = 32

var errCallOver = fmt.Errorf("breezeway: the call is over: %w", context.Canceled)

// newContext returns a context for the next arrival. Only the goroutine that takes up arrivals
// calls it.
func (s *session) newContext(call *Call) *callContext {
	if len(s.contexts) == 0 {
		s.contexts = make([]callContext, contextsAtOnce)
	}
	c := &s.contexts[0]
	s.contexts = s.contexts[1:]
	c.session, c.call = s, call
	return c
}

// Deadline returns the call's deadline.
func (c *callContext) Deadline() (time.Time, bool) { return c.use().Deadline() }

// Value returns the value of a key of package context.
func (c *callContext) Value(key any) any { return c.use().Value(key) }

// Done returns a channel that is closed when the context ends.
func (c *callContext) Done() <-chan struct{} { return c.observe().Done() }

// Err returns the reason of the end.
func (c *callContext) Err() error { return c.observe().Err() }

// use returns the context of package context.
func (c *callContext) use() *madeContext {
	if made := c.made.Load(); made != nil {
		return made
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return c.make()
}

// make returns the context, which it makes unless another goroutine has. The session's lock is
// held.
func (c *callContext) make() *madeContext {
	if made := c.made.Load(); made != nil {
		return made
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	made := &madeContext{Context: ctx, cancel: cancel}
	defer c.made.Store(made)
	if !c.state.CompareAndSwap(isUnused, isUsed) {
		cancel(errCallOver)
		return made
	}
	call, s := c.call, c.session
	if !call.deadline.IsZero() {
		within, stop := context.WithDeadline(ctx, call.deadline)
		made.Context, made.cancel = within, func(cause error) { cancel(cause); stop() }
	}
	switch {
	case call.IsOneWay():
	case call.cancelled:
		made.cancel(errCancelled)
	case s.err != nil || s.rules.Ending.IsGone():
		made.cancel(s.endError())
	}
	return made
}

// errCancelled is the cause of a context that the client has cancelled.
var errCancelled = &CallError{Code: CodeCancelled}

// observe returns the context for a caller that may wait for its end.
func (c *callContext) observe() *madeContext {
	if made := c.made.Load(); made != nil && made.isObserved.Load() {
		return made
	}
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	made := c.make()
	made.isObserved.Store(true)
	// With Offload, another goroutine reads the session soon.
	if s.opts.offload == 0 && c.state.Load() == isUsed && made.reading == nil {
		made.reading = time.AfterFunc(handOverAfter, func() { c.read(made) })
	}
	return made
}

// read reads the session while the handler runs.
func (c *callContext) read(made *madeContext) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	made.reader = s.newWaiter()
	_ = s.wait(made.reader, &limit{}, func() bool { return c.state.Load() == isOver })
	s.freeWaiter(made.reader)
	made.reader = nil
}

// cancel ends the context of a call whose client no longer waits. The session's lock is held.
func (c *callContext) cancel(cause error) {
	if made := c.made.Load(); made != nil && !c.call.IsOneWay() {
		made.cancel(cause)
	}
}

// end ends the context of a call whose handler has returned.
func (c *callContext) end() {
	if c.state.CompareAndSwap(isUnused, isOver) {
		return
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.state.Store(isOver)
	made := c.made.Load()
	made.cancel(errCallOver)
	if made.reading != nil {
		made.reading.Stop()
	}
	if made.reader != nil {
		made.reader.wake()
	}
}

// cancelCall ends the context of a call that its client has cancelled. The session's lock is held.
func (s *session) cancelCall(number uint32) {
	if call := s.serving[number]; call != nil {
		call.cancelled = true
		call.ctx.cancel(errCancelled)
		return
	}
	if call := s.taken; call != nil && call.head.Stream == number && !call.IsOneWay() {
		call.cancelled = true
		call.ctx.cancel(errCancelled)
		return
	}
	for i := range s.arrivals[s.arrivalFirst:] {
		a := &s.arrivals[s.arrivalFirst+i]
		if a.stream == nil && a.head.Stream == number && !a.head.Flags.Has(proto.FlagNoReply) {
			a.cancelled = true
		}
	}
}
