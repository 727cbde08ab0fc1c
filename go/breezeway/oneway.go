package breezeway

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// postAll sends one-way messages and wakes the peer once.
func (s *session) postAll(ctx context.Context, method uint32, messages [][]byte) error {
	lim := limitOf(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, message := range messages {
		if err := s.postOne(method, &outgoing{bytes: message}, lim); err != nil {
			if s.err == nil {
				s.flush() // Wakes the peer for the messages before the failed one.
			}
			return timedOut(err)
		}
	}
	s.flush()
	return nil
}

// post sends a one-way message.
func (s *session) post(ctx context.Context, method uint32, out *outgoing) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.postOne(method, out, limitOf(ctx))
	if s.err == nil {
		s.flush()
	}
	return timedOut(err)
}

func (s *session) postOne(method uint32, out *outgoing, lim limit) error {
	if err := cmp.Or(s.mayBegin(&outgoing{}), lim.err()); err != nil {
		return err
	}
	if err := s.waitForOneWayWindow(lim); err != nil {
		return err
	}
	length := out.length()
	if s.memory != nil && s.rules.IsThrottled(length) {
		if err := s.holdBack(out, lim); err != nil {
			return err
		}
	}
	head := proto.Head{Kind: proto.KindMessage, Flags: proto.OneWayFlags,
		Stream: s.rules.TakeNumber(), Tag: method}
	if head.Stream%postsPerLook == 1 && !s.isDriven() {
		// Otherwise the peer's end would go unnoticed. A driver reads the socket itself, and would
		// sleep through what is read here.
		if s.look(); s.err == nil && s.link.isClosed() {
			s.takeTurns(catchUpTurns, false)
		}
	}
	for {
		if s.err != nil {
			return s.err
		}
		err := s.transmit(head, out)
		if err == nil {
			s.rules.Streams.Posted(length)
			return nil
		}
		if err := s.waitForRoom(err, lim); err != nil {
			return err
		}
	}
}

const postsPerLook = 128

// waitForOneWayWindow waits until a one-way message may start.
func (s *session) waitForOneWayWindow(lim limit) error {
	for !s.rules.Streams.MayPost() {
		s.flush() // The peer opens the window only for messages that it has seen.
		err := s.waitIn(&s.posters, s.newWaiter(), &lim, func() bool {
			return s.rules.Streams.MayPost() || s.rules.IsGoingAway()
		})
		if err = cmp.Or(err, s.mayBegin(&outgoing{})); err != nil {
			return err
		}
	}
	return nil
}

// holdBack waits for a moment while more bytes are in flight than a cache holds.
func (s *session) holdBack(out *outgoing, lim limit) error {
	end, t := s.memory.end, &s.throttle
	length, own := out.length(), 0
	if out.reserved != nil && out.reserved.isLoan {
		own = out.reserved.loan.Taken() // It is under way already.
	}
	underWay := end.UnderWay() - own
	var hold proto.Hold
	for s.err == nil && t.IsExceeded(underWay, length) {
		end.Collect()
		if underWay = end.UnderWay() - own; !t.IsExceeded(underWay, length) {
			break
		}
		waited, until := lim, t.Wait(&hold, underWay, time.Now())
		if lim.deadline.IsZero() || until.Before(lim.deadline) {
			waited.deadline = until
		}
		err := s.waitForRoom(shm.ErrNoMemory, waited)
		if err != nil && (!errors.Is(err, errDeadline) || lim.err() != nil) {
			return err
		}
		t.Waited(&hold, time.Now())
	}
	t.Sent(underWay)
	return nil
}

// usualPace is the bound if the size of the last-level cache is unknown.
const usualPace = 8 << 20

func newThrottle(set uint64) proto.Throttle {
	if set == 0 {
		set = lastCache() / 4
	}
	return proto.NewThrottle(set)
}

// lastCache returns the size in bytes of a CPU's last-level cache.
var lastCache = sync.OnceValue(func() uint64 {
	largest := uint64(0)
	for index := 0; ; index++ {
		text, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cache/index" + strconv.Itoa(index) +
			"/size")
		if err != nil {
			break
		}
		number := strings.TrimSuffix(strings.TrimSpace(string(text)), "K")
		kib, err := strconv.ParseUint(number, 10, 32)
		if err == nil {
			largest = max(largest, kib<<10)
		}
	}
	if largest == 0 {
		return 4 * usualPace
	}
	return largest
})

// beginPost counts the handler of a one-way message of n bytes. It waits while as many of them run
// as the rules allow. This session's goroutine reads the session in that time. The session's end
// ends the wait.
func (s *session) beginPost(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.rules.Served.MayRunPost() {
		_ = s.waitIn(&s.postWaiters, s.newWaiter(), &limit{}, s.rules.Served.MayRunPost)
	}
	s.rules.Served.BeginPost(n)
}

func (s *session) endPost(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules.Served.PostServed(n)
	if s.rules.Served.MayRunPost() {
		wakeNext(s.postWaiters)
	}
}
