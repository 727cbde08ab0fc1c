package shm

import (
	"fmt"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// producer is the producing end of our ring.
type producer struct {
	own, peer *segment.Mapping
	mask      uint64
	// tail is the position of the next entry; positions below announced were compared with the
	// peer's intent; consumed is what the peer is known to have consumed.
	tail, announced, consumed uint64
	// unfenced says that the last entry's sequence may be seen later than what is loaded next.
	unfenced bool
}

func slot(position, mask uint64) int {
	return proto.RingAt + int(position&mask)*proto.EntrySize
}

func (p *producer) knownSpace() uint64 { return p.mask + 1 - (p.tail - p.consumed) }

// refresh reads the peer's progress and judges it by its distance.
func (p *producer) refresh() error {
	found := p.peer.Load(proto.ConsumedAt)
	if found-p.consumed > p.tail-p.consumed {
		return fmt.Errorf("the peer says it consumed up to %d, but %d..=%d is possible",
			found, p.consumed, p.tail)
	}
	p.consumed = found
	return nil
}

// hasSpace says whether so many slots are free.
func (p *producer) hasSpace(count uint64) (bool, error) {
	if p.knownSpace() >= count {
		return true, nil
	}
	err := p.refresh()
	return err == nil && p.knownSpace() >= count, err
}

// publish publishes an entry. There is a slot for it.
func (p *producer) publish(head *proto.Head, body []byte) {
	p.own.Publish(slot(p.tail, p.mask), head, body, p.tail+1)
	p.tail++
	p.unfenced = false
}

// publishUnfenced is publish, before a fence and doorbellDue. It says whether the peer is already
// known to sleep for it.
func (p *producer) publishUnfenced(head *proto.Head, body []byte) bool {
	p.own.PublishUnfenced(slot(p.tail, p.mask), head, body, p.tail+1)
	p.tail++
	p.unfenced = true
	return proto.Crossed(p.peer.Load(proto.DataWakeAt), p.announced, p.tail)
}

// isCompared says whether nothing was published since doorbellDue was asked.
func (p *producer) isCompared() bool { return p.announced == p.tail }

// doorbellDue says whether the peer announced to sleep on something published since the last call.
func (p *producer) doorbellDue() bool {
	due := proto.Crossed(p.peer.Load(proto.DataWakeAt), p.announced, p.tail)
	p.announced = p.tail
	return due
}

// consumer is the consuming end of the peer's ring.
type consumer struct {
	own, peer *segment.Mapping
	mask      uint64
	// head is the position of the next entry; published is the progress that the peer can see, and
	// announced that which was compared with its intent.
	head, published, announced uint64
}

// ready says whether the next entry is committed.
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

// judge says what is wrong with a sequence that is not the next one's.
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

// peek copies the next entry, which is ready, into private memory.
func (c *consumer) peek(entry *proto.Entry) error {
	return c.peer.Take(slot(c.head, c.mask), entry)
}

// advance consumes the entry. True if progress has to be published now.
func (c *consumer) advance() bool {
	c.head++
	return c.head-c.published >= (c.mask+1)/4 ||
		proto.Crossed(c.peer.Load(proto.SpaceWakeAt), c.published, c.head)
}

// shareProgress is publishProgress for who publishes an entry next: the store of its sequence comes
// between this one and what is loaded afterwards. Of an entry without a fence nothing is loaded
// before a Flush: by the caller of the very reply for which the peer has no room.
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

// isCompared says whether nothing was consumed since doorbellDue was asked.
func (c *consumer) isCompared() bool { return c.announced == c.head }

// doorbellDue says whether the peer announced to sleep on progress published since the last call.
func (c *consumer) doorbellDue() bool {
	due := proto.Crossed(c.peer.Load(proto.SpaceWakeAt), c.announced, c.published)
	c.announced = c.published
	return due
}
