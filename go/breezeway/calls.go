package breezeway

import (
	"context"
	"errors"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

type callInFlight = proto.Call[*waiter]

// wakeCallers wakes all goroutines that wait for a reply or to begin a call.
func (s *session) wakeCallers() {
	for _, w := range s.rules.Calls.Callers() {
		w.wake()
	}
	wake(&s.callWaiters, true)
}

// callEnded wakes one goroutine that waits for another call to end.
func (s *session) callEnded() {
	wakeNext(s.callWaiters)
	s.ended()
}

// mayBegin returns the reason why no call or stream can begin, or nil.
func (s *session) mayBegin(out *outgoing) error {
	if err := s.endError(); err != nil {
		return err
	}
	if s.rules.IsGoingAway() {
		return ErrGoingAway
	}
	return s.checkMetadata(out)
}

func (s *session) checkMetadata(out *outgoing) error {
	if most := s.rules.MaxMetadata(); out.hasMetadata && len(out.metadata) > most {
		return &TooMuchMetadataError{len(out.metadata), most}
	}
	return nil
}

// wakeBeginners wakes all goroutines that wait to begin a call or a stream, or to send a one-way
// message, because the server goes away.
func (s *session) wakeBeginners() {
	wake(&s.callWaiters, false)
	wake(&s.openers, false)
	wake(&s.posters, false)
	s.wakeRoom()
}

// timeLeft returns the remaining time as it is sent to the peer (section 4.4).
func (l *limit) timeLeft() uint16 {
	deadline := l.deadline
	if l.ctx != nil {
		if until, has := l.ctx.Deadline(); has && (deadline.IsZero() || until.Before(deadline)) {
			deadline = until
		}
	}
	if deadline.IsZero() {
		return 0
	}
	return proto.EncodeTime(time.Until(deadline))
}

// callLimit returns the limit of a call that begins now.
func (s *session) callLimit(ctx context.Context) limit {
	lim := limitOf(ctx)
	if s.opts.callTimeout > 0 {
		lim.deadline = time.Now().Add(s.opts.callTimeout)
	}
	return lim
}

// call sends a request and waits for its reply.
func (s *session) call(
	ctx context.Context, method uint32, out *outgoing, reply *Message,
) error {
	lim := s.callLimit(ctx)
	s.mu.Lock()
	p, w, err := s.ask(method, out, &lim)
	if err != nil {
		s.mu.Unlock()
		return timedOut(err)
	}
	return timedOut(s.waitForReply(w, p, &lim, reply))
}

// ask sends a request, and returns its call and waiter.
func (s *session) ask(method uint32, out *outgoing, lim *limit) (*callInFlight, *waiter, error) {
	if err := s.waitToBegin(out, lim); err != nil {
		return nil, nil, err
	}
	return s.sendRequest(method, out, lim)
}

// sendRequest sends a request, for which there is room.
func (s *session) sendRequest(method uint32, out *outgoing, lim *limit) (*callInFlight, *waiter,
	error) {
	number := s.rules.TakeNumber()
	w := s.newWaiter()
	p := s.rules.Calls.Begin(number, w)
	s.letYield(w)
	head := proto.Head{Kind: proto.KindMessage, Flags: proto.RequestFlags, Stream: number,
		Tag: method, Time: lim.timeLeft()}
	if w.yields > 0 && s.transmitUnfenced(head, out) {
		p.Sent()
		return p, w, nil
	}
	if err := s.send(head, out, lim); err != nil {
		s.rules.Calls.End(p)
		s.callEnded()
		s.freeWaiter(w)
		return nil, nil, err
	}
	p.Sent()
	return p, w, nil
}

// waitToBegin waits until a call may begin.
func (s *session) waitToBegin(out *outgoing, lim *limit) error {
	for {
		if err := s.mayBegin(out); err != nil {
			return err
		}
		if err := lim.err(); err != nil {
			s.passRoomOn()
			return err
		}
		if s.rules.Calls.HasRoom() {
			return nil
		}
		err := s.waitIn(&s.callWaiters, s.newWaiter(), lim, func() bool {
			return s.rules.Calls.HasRoom() || s.rules.IsGoingAway()
		})
		if err != nil {
			s.passRoomOn()
			return err
		}
	}
}

// passRoomOn wakes the next waiter for a call if there is room. The one that leaves may have used
// up a wake-up.
func (s *session) passRoomOn() {
	if s.rules.Calls.HasRoom() {
		wakeNext(s.callWaiters)
	}
}

// timedOut maps the timeout of a call to the error of its context.
func timedOut(err error) error {
	if errors.Is(err, errDeadline) {
		return context.DeadlineExceeded
	}
	return err
}

// giveUp abandons a call. Its number stays in use until the reply has arrived.
func (s *session) giveUp(p *callInFlight) {
	if s.err != nil {
		s.rules.Calls.End(p)
		wakeNext(s.callWaiters)
		return
	}
	cancel := s.rules.Calls.GiveUp(p)
	// Without room the cancellation is not sent. It is advisory.
	_ = s.transmit(cancel, &outgoing{})
	s.flush() // This includes the request, which may have been published unfenced.
	s.ended()
}

// answer stores a reply for its caller and wakes it.
func (s *session) answer(w *waiter, head *proto.Head, m *Message) {
	s.callEnded()
	w.answered = true
	if head.Flags.Has(proto.FlagError) {
		w.err = &CallError{Code(head.Tag), reason(m)}
		m.Release()
	} else {
		w.reply = *m
	}
	s.resumed = s.resumed || w.asleep || w.yielding
	s.rested(w)
	w.rouse(true)
}

// reason returns the text of an error reply.
func reason(m *Message) string {
	bytes := make([]byte, min(m.length, proto.MaxErrorReason))
	if m.copyOut(bytes, 0) != nil {
		return ""
	}
	return printable(bytes)
}
