package breezeway

import (
	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A link carries the messages of a session: by shared memory, or over a socket. The session's lock
// is held during all calls. The interface excludes what is called with every message: take, send
// and flush of both types.
type link interface {
	carrier() Carrier
	// prepareSleep announces that the driver is about to sleep. It returns false if there is input.
	prepareSleep() (bool, error)
	// awake reads the socket after a sleep.
	awake() error
	// armRoom announces that a goroutine waits for room; hasRoom returns true if there is room
	// since then.
	armRoom(memory bool)
	disarmRoom()
	hasRoom() (bool, error)
	// exited records that the peer's process has exited: nothing follows what has arrived.
	exited()
	// stop ends reading. Later input is dropped.
	stop()
	// isClosed returns true once the peer's end was seen. Earlier input is still taken.
	isClosed() bool
	reserve(n int) (*Reservation, error)
	maxMessage() int
	close()
	// refused returns, once, the received descriptors that are not allowed.
	refused() []int
	counters() Counters
}

// incoming holds what a link has taken: an entry, with the message's inline bytes as its body, and
// the resulting event.
type incoming struct {
	message Message
	entry   proto.Entry
	event   proto.Event[*waiter, *Stream]
}

// outgoing describes a message to send: an optional metadata block and a body, which is one slice,
// several slices, a received message, or a reservation.
type outgoing struct {
	metadata    []byte
	hasMetadata bool
	bytes       []byte
	pieces      [][]byte
	message     *Message
	reserved    *Reservation
	// empty is true for an entry without a message.
	empty bool
	// releases is a lent message to release after the copy and before the publication, so that the
	// peer finds its memory free.
	releases *Message
	// sent is true once the message was published.
	sent bool
}

func (o *outgoing) length() int {
	switch {
	case o.reserved != nil:
		return o.reserved.length - o.reserved.start
	case o.message != nil:
		return o.message.length
	}
	length := len(o.bytes)
	for _, piece := range o.pieces {
		length += len(piece)
	}
	return length
}

// isPlain returns true if the body is bytes alone.
func (o *outgoing) isPlain() bool {
	return !o.hasMetadata && o.message == nil && o.pieces == nil
}

// prefixLen returns the length of the metadata block in the body.
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

// writeTo writes the whole body into private memory of its length.
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

// Counters are the counters of this side of a session.
type Counters struct {
	EntriesPublished, PayloadBytesLent, DoorbellsRung, Sleeps   uint64
	PayloadSegmentBytes, RingFull, NoMemory, SegmentsAddedSoFar uint64
}
