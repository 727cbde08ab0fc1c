package proto

import "time"

const (
	// throttledFrom is the size below which messages never wait: a ring full of them fits into a
	// cache.
	throttledFrom = 16 << 10
	// throttlePatience is the time that a message waits for a receiver that releases nothing.
	throttlePatience = time.Millisecond
)

// A Throttle bounds the bytes of one-way messages that the receiver has not released (option
// UnderWay): a sender that takes ever new memory writes past all caches, and the receiver reads it
// from there. A receiver that keeps its messages is not waited for twice.
type Throttle struct{ usual, now uint64 }

// IsThrottled returns true if a one-way message of so many bytes may wait: not while a reply is to
// come, as what is released may be in the entries behind that.
func (s *Session[C, S]) IsThrottled(length int) bool {
	return length >= throttledFrom && s.Calls.inFlight == 0
}

// NewThrottle returns a throttle with the usual bound in bytes.
func NewThrottle(usual uint64) Throttle { return Throttle{usual, usual} }

// A Hold is the wait of one message.
type Hold struct {
	least int // bytes that were under way
	until time.Time
}

// IsExceeded returns true if a message goes too far ahead with so many bytes under way. One is
// always sent.
func (t *Throttle) IsExceeded(underWay, length int) bool {
	return underWay > 0 && uint64(underWay)+uint64(length) > t.now
}

// Wait returns the time until which a message waits, which begins anew with less under way than
// before: bytes that others take meanwhile are no reason.
func (t *Throttle) Wait(hold *Hold, underWay int, now time.Time) time.Time {
	if underWay < hold.least || hold.until.IsZero() {
		*hold = Hold{underWay, now.Add(throttlePatience)}
	}
	return hold.until
}

// Waited notes the end of a wait. Once its time is over, the bound is doubled.
func (t *Throttle) Waited(hold *Hold, now time.Time) {
	if !now.Before(hold.until) {
		t.now *= 2
	}
}

// Sent notes that a message was sent with so many bytes under way.
func (t *Throttle) Sent(underWay int) {
	if underWay == 0 {
		t.now = t.usual
	}
}
