package proto

import (
	"fmt"
	"math"
)

// A credit is the rest of a window: messages and bytes that may still be sent. A message may start
// while there is some of both, and may overdraw the bytes once (docs/abi.md, section 4.3).
type credit struct {
	wholeMessages, messages uint32
	wholeBytes, bytes       int64
}

func newCredit(messages uint32, bytes uint64) credit {
	whole := int64(min(bytes, math.MaxInt64))
	return credit{messages, messages, whole, whole}
}

func (c *credit) allows() bool { return c.messages > 0 && c.bytes > 0 }

func (c *credit) spend(length int) {
	c.messages--
	c.bytes -= int64(length)
}

// add returns consumed messages and bytes to the credit. More than was spent is a violation.
func (c *credit) add(messages uint32, bytes uint64) error {
	spent := uint64(c.wholeBytes) - uint64(c.bytes)
	if messages > c.wholeMessages-c.messages || bytes > spent {
		return fmt.Errorf("a window gives back %d messages and %d bytes, more than was sent",
			messages, bytes)
	}
	c.messages += messages
	c.bytes += int64(bytes)
	return nil
}

// A granted is the receiving side of a window: the credit of the peer, and consumed messages and
// bytes that were not returned to it.
type granted struct {
	credit
	consumedMessages uint32
	consumedBytes    uint64
}

// take validates a received message.
func (g *granted) take(length int) error {
	if !g.allows() {
		return fmt.Errorf("a message past the stream's window")
	}
	g.spend(length)
	return nil
}

func (g *granted) consume(length int) {
	g.consumedMessages++
	g.consumedBytes += uint64(length)
}

// isDue returns true if half of the window was consumed and not returned.
func (g *granted) isDue() bool {
	return uint64(g.consumedMessages) >= (uint64(g.wholeMessages)+1)/2 ||
		g.consumedBytes >= (uint64(g.wholeBytes)+1)/2
}

// giveBack records that a window entry was sent.
func (g *granted) giveBack() {
	g.messages += g.consumedMessages
	g.bytes += int64(g.consumedBytes)
	g.consumedMessages, g.consumedBytes = 0, 0
}
