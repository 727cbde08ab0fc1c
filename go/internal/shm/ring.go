package shm

import (
	"fmt"
	"sync/atomic"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// A producer is the producing end of this side's ring.
type producer struct {
	own, peer *segment.Mapping
	mask      uint64
	// tail is the position of the next entry. Positions below announced were compared with the
	// peer's sleep intent. consumed is the peer's last known progress.
	tail, announced, consumed uint64
	// unfenced is true if the last entry's sequence may become visible after later loads.
	unfenced bool
	// fenced is stored to order that sequence before later loads.
	fenced atomic.Uint64
}

func slot(position, mask uint64) int {
	return proto.RingAt + int(position&mask)*proto.EntrySize
}

func (p *producer) knownSpace() uint64 { return p.mask + 1 - (p.tail - p.consumed) }

// refresh reads the peer's progress and validates it by its distance.
func (p *producer) refresh() error {
	found := p.peer.Load(proto.ConsumedAt)
	if found-p.consumed > p.tail-p.consumed {
		return fmt.Errorf("the peer reports consumption up to %d, but %d..=%d is possible",
			found, p.consumed, p.tail)
	}
	p.consumed = found
	return nil
}

// hasSpace returns true if count entries are free.
func (p *producer) hasSpace(count uint64) (bool, error) {
	if p.knownSpace() >= count {
		return true, nil
	}
	err := p.refresh()
	return err == nil && p.knownSpace() >= count, err
}

// publish publishes an entry. There must be a free one.
func (p *producer) publish(head *proto.Head, body []byte) {
	p.own.Publish(slot(p.tail, p.mask), head, body, p.tail+1)
	p.tail++
	p.unfenced = false
}

// publishUnfenced publishes before a later fence and doorbellDue. It returns true if the peer is
// already known to sleep for the entry.
func (p *producer) publishUnfenced(head *proto.Head, body []byte) bool {
	p.own.PublishUnfenced(slot(p.tail, p.mask), head, body, p.tail+1)
	p.tail++
	p.unfenced = true
	return proto.Crossed(p.peer.Load(proto.DataWakeAt), p.announced, p.tail)
}

// fence makes the last entry visible before later loads.
func (p *producer) fence() {
	if p.unfenced {
		p.unfenced = false
		p.fenced.Store(p.tail)
	}
}

// isCompared returns true if no entry was published since the last doorbellDue.
func (p *producer) isCompared() bool { return p.announced == p.tail }

// doorbellDue returns true if the peer has announced to sleep on an entry published since the last
// call.
func (p *producer) doorbellDue() bool {
	due := proto.Crossed(p.peer.Load(proto.DataWakeAt), p.announced, p.tail)
	p.announced = p.tail
	return due
}

// A consumer is the consuming end of the peer's ring.
type consumer struct {
	own, peer *segment.Mapping
	mask      uint64
	// head is the position of the next entry, published the progress that the peer can see, and
	// announced the progress that was compared with the peer's sleep intent.
	head, published, announced uint64
}

// ready returns true if the next entry is committed.
func (c *consumer) ready() (bool, error) {
	sequence := c.peer.Load(slot(c.head, c.mask))
	if sequence == c.head+1 {
		return true, nil
	}
	return false, c.judge(sequence)
}

func (c *consumer) isReady() bool {
	return c.peer.Load(slot(c.head, c.mask)) == c.head+1
}

// judge returns an error if a sequence is neither the next nor the previous one.
func (c *consumer) judge(sequence uint64) error {
	previous := uint64(0)
	if c.head > c.mask {
		previous = c.head - c.mask
	}
	if sequence == previous {
		return nil
	}
	return fmt.Errorf("entry %d carries sequence %d, which is neither its previous value "+
		"nor %d",
		c.head, sequence, c.head+1)
}

// peek copies the next entry, which must be ready, into private memory.
func (c *consumer) peek(entry *proto.Entry) error {
	return c.peer.Take(slot(c.head, c.mask), entry)
}

// advance consumes the entry. It returns true if progress must be published now.
func (c *consumer) advance() bool {
	c.head++
	return c.head-c.published >= (c.mask+1)/4 ||
		proto.Crossed(c.peer.Load(proto.SpaceWakeAt), c.published, c.head)
}

// shareProgress publishes progress before the caller publishes an entry: the store of the entry's
// sequence comes between this store and later loads. After an unfenced entry nothing is loaded
// before a Flush: if the peer has no room for a reply, the caller that awaits the reply calls
// Flush.
func (c *consumer) shareProgress() {
	if c.published != c.head {
		c.own.Set(proto.ConsumedAt, c.head)
		c.published = c.head
	}
}

func (c *consumer) publishProgress() {
	if c.published != c.head {
		c.own.Store(proto.ConsumedAt, c.head)
		c.published = c.head
	}
}

// isCompared returns true if no entry was consumed since the last doorbellDue.
func (c *consumer) isCompared() bool { return c.announced == c.head }

// doorbellDue returns true if the peer has announced to sleep on progress published since the last
// call.
func (c *consumer) doorbellDue() bool {
	due := proto.Crossed(c.peer.Load(proto.SpaceWakeAt), c.announced, c.published)
	c.announced = c.published
	return due
}
