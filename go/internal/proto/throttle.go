package proto

import "time"

const (
	// throttledFrom is the size below which messages never wait: a ring full of them fits into a
	// cache.
	throttledFrom = 16 << 10
	// throttlePatience is how long a message waits for a receiver that releases nothing.
	throttlePatience = time.Millisecond
)

// A Throttle bounds the bytes of one-way messages that the receiver has not released (option
// UnderWay). A sender that always takes new memory writes past all caches, and the receiver reads
// it from there. A message waits only once for a receiver that keeps its messages.
type Throttle struct{ usual, now uint64 }

// IsThrottled returns true if a one-way message of length bytes may wait. It must not wait while a
// reply is expected, since releases may be in the entries behind the reply.
func (s *Session[C, S]) IsThrottled(length int) bool {
	return length >= throttledFrom && s.Calls.inFlight == 0
}

// NewThrottle returns a throttle with the usual bound in bytes.
func NewThrottle(usual uint64) Throttle { return Throttle{usual, usual} }

// A Hold is the wait of one message.
type Hold struct {
	least int // bytes in flight
	until time.Time
}

// IsExceeded returns true if a message exceeds the bound with underWay bytes in flight. One message
// may always be sent.
func (t *Throttle) IsExceeded(underWay, length int) bool {
	return underWay > 0 && uint64(underWay)+uint64(length) > t.now
}

// Wait returns the time until which a message waits. The wait starts again when fewer bytes are in
// flight than before, but not when other senders have added some.
func (t *Throttle) Wait(hold *Hold, underWay int, now time.Time) time.Time {
	if underWay < hold.least || hold.until.IsZero() {
		*hold = Hold{underWay, now.Add(throttlePatience)}
	}
	return hold.until
}

// Waited records the end of a wait. If its time has passed, the bound doubles.
func (t *Throttle) Waited(hold *Hold, now time.Time) {
	if !now.Before(hold.until) {
		t.now *= 2
	}
}

// Sent records that a message was sent with underWay bytes in flight before it.
func (t *Throttle) Sent(underWay int) {
	if underWay == 0 {
		t.now = t.usual
	}
}
