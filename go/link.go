package breezeway

import (
	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A link carries messages: shared memory, or a socket. Its session keeps a lock around all but
// ready. What is called with every message is not part of it: take, send and flush of both types.
type link interface {
	carrier() Carrier
	// prepareSleep announces that who drives is about to sleep; false if there is something to do.
	prepareSleep() (bool, error)
	// awake reads what woke it.
	awake() error
	// armRoom announces that somebody waits for room; hasRoom says whether there is some since.
	armRoom(memory bool)
	disarmRoom()
	hasRoom() (bool, error)
	// exited says that the other side's process is gone: no more comes than there is.
	exited()
	// stop has nothing more taken: what still comes is dropped.
	stop()
	// isClosed says whether the other side's end was seen; what came before is still taken.
	isClosed() bool
	reserve(n int) (*Reservation, error)
	maxMessage() int
	close()
	// refused takes the descriptors that the other side has sent and that do not belong there.
	refused() []int
	counters() Counters
}

// incoming is what a link has taken: an entry, whose body is the message's inline bytes, and what
// it changes.
type incoming struct {
	message Message
	entry   proto.Entry
	event   proto.Event[*waiter, *Stream]
}

// outgoing is what a message is made of: a metadata block, and bytes, of one slice or of several,
// or a message that came, or reserved space.
type outgoing struct {
	metadata    []byte
	hasMetadata bool
	bytes       []byte
	pieces      [][]byte
	message     *Message
	reserved    *Reservation
	// Whether there is no message.
	empty bool
	// releases is what is released, if it is lent, once the message was copied and before it is
	// published, so that the other side finds its memory free.
	releases *Message
	// sent is set once it was published.
	sent bool
}

func (o *outgoing) length() int {
	switch {
	case o.reserved != nil:
		return o.reserved.length
	case o.message != nil:
		return o.message.length
	}
	length := len(o.bytes)
	for _, piece := range o.pieces {
		length += len(piece)
	}
	return length
}

// isPlain says whether all of the body is bytes.
func (o *outgoing) isPlain() bool {
	return !o.hasMetadata && o.message == nil && o.pieces == nil
}

// prefixLen is the length of what precedes the message in the body.
func (o *outgoing) prefixLen() int {
	if !o.hasMetadata {
		return 0
	}
	return proto.MetadataPrefix + len(o.metadata)
}

func (o *outgoing) flags() proto.Flags {
	var flags proto.Flags
	if o.hasMetadata {
		flags |= proto.FlagMetadata
	}
	if o.empty {
		flags |= proto.FlagEmpty
	}
	return flags
}

// writePrefix writes the metadata block.
func (o *outgoing) writePrefix(to []byte) {
	if o.hasMetadata {
		to[0], to[1] = byte(len(o.metadata)), byte(len(o.metadata)>>8)
		copy(to[2:], o.metadata)
	}
}

// writeTo writes all of the body into private memory of its length.
func (o *outgoing) writeTo(to []byte) error {
	o.writePrefix(to)
	to = to[o.prefixLen():]
	if o.message != nil {
		return o.message.copyOut(to, 0)
	}
	to = to[copy(to, o.bytes):]
	for _, piece := range o.pieces {
		to = to[copy(to, piece):]
	}
	return nil
}

// Counters are what a session has counted on this side (docs/abi.md, section 7).
type Counters struct {
	EntriesPublished, PayloadBytesLent, DoorbellsRung, Sleeps   uint64
	PayloadSegmentBytes, RingFull, NoMemory, SegmentsAddedSoFar uint64
}
