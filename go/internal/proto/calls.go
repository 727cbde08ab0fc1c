package proto

import "fmt"

// A Call is a call of this side in flight. Caller is the owner's handle of the goroutine that waits
// for the reply.
type Call[C any] struct {
	number uint32
	inUse  bool
	sent   bool // its request was published
	given  bool // its caller has abandoned it
	Caller C
}

// Number returns the call's stream number.
func (p *Call[C]) Number() uint32 { return p.number }

// Sent records that the request was published. A reply before that is a violation.
func (p *Call[C]) Sent() { p.sent = true }

// Calls holds the calls of a client in flight, by their stream number modulo a power of two. A
// number with an occupied place is skipped.
type Calls[C any] struct {
	slots    []Call[C]
	inFlight int
	givenUp  int
	held     int
	limit    int
}

// NewCalls returns an empty set of at most limit calls.
func NewCalls[C any](limit int) Calls[C] {
	return Calls[C]{slots: make([]Call[C], places(limit)), limit: limit}
}

// InFlight returns the number of calls without a reply.
func (c *Calls[C]) InFlight() int { return c.inFlight }

// HasRoom returns true if one more call may begin. Calls in flight count, also abandoned ones until
// their replies have arrived, and those of Hold.
func (c *Calls[C]) HasRoom() bool { return c.inFlight+c.held < c.limit }

// Hold counts a call that will begin, and has no number yet.
func (c *Calls[C]) Hold() { c.held++ }

// Unhold ends Hold, before the call begins or if it does not.
func (c *Calls[C]) Unhold() { c.held-- }

// IsIdle returns true if no caller waits for a reply.
func (c *Calls[C]) IsIdle() bool { return c.inFlight == c.givenUp }

// Begin counts a call on a free number, before its request is published.
func (c *Calls[C]) Begin(number uint32, caller C) *Call[C] {
	p := c.at(number)
	p.number, p.inUse, p.Caller = number, true, caller
	c.inFlight++
	return p
}

// End frees the number of a call: its reply has arrived, or its request was not published.
func (c *Calls[C]) End(p *Call[C]) {
	if p.given {
		c.givenUp--
	}
	*p = Call[C]{}
	c.inFlight--
}

// GiveUp abandons a call, and returns the entry that cancels it at the server. The number stays in
// use until the reply has arrived.
func (c *Calls[C]) GiveUp(p *Call[C]) Head {
	var nobody C
	p.given, p.Caller = true, nobody
	c.givenUp++
	return Head{Kind: KindCancel, Stream: p.number}
}

// Callers returns the owner's handles of all calls with a waiting caller.
func (c *Calls[C]) Callers() (callers []C) {
	for i := range c.slots {
		if p := &c.slots[i]; p.inUse && !p.given {
			callers = append(callers, p.Caller)
		}
	}
	return callers
}

// IsFree returns true if a call may begin on a number.
func (c *Calls[C]) IsFree(number uint32) bool { return !c.at(number).inUse }

// Awaits returns true if a call in flight has the number.
func (c *Calls[C]) Awaits(number uint32) bool {
	p := c.at(number)
	return p.inUse && p.number == number
}

// answer validates a message as the reply to a call in flight, and ends the call.
func (c *Calls[C]) answer(head *Head) (caller C, change Change, err error) {
	const may = FlagLent | FlagError | FlagMetadata
	if head.Flags&^may != FlagFin {
		return caller, Ignored, fmt.Errorf("a message with flags %#02x is not a reply", head.Flags)
	}
	p := c.at(head.Stream)
	if !p.sent {
		return caller, Ignored, fmt.Errorf("a reply to call %d before its request", head.Stream)
	}
	caller, change = p.Caller, Answered
	if p.given {
		change = AnsweredLate
	}
	c.End(p)
	return caller, change, nil
}

func (c *Calls[C]) at(number uint32) *Call[C] {
	return &c.slots[int(number>>1)&(len(c.slots)-1)]
}
