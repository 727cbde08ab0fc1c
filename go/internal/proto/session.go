package proto

import (
	"encoding/binary"
	"fmt"
)

// A Session implements the rules of one end of a session: entries and lengths in, events and due
// entries out. Its owner keeps the messages and the handles of waiters: C of a caller that waits
// for a reply, S of a stream.
type Session[C, S any] struct {
	Calls   Calls[C]
	Streams Streams[S]
	Served  Served
	Ending  Ending

	isClient    bool
	maxMetadata int // of received messages
	peer        *Hello
	nextNumber  uint32
	goingAway   bool // the server has asked for nothing new
	// A go-away entry is due, or was sent, to the client.
	goAwayDue, goAwaySent bool
}

// NewSession returns one end of a session between sides with these hellos. onSocket is true if
// messages travel in frames on a socket, and not in rings.
func NewSession[C, S any](isClient bool, own, peer *Hello, onSocket bool) Session[C, S] {
	most := min(own.PayloadCap, peer.PayloadCap)
	if onSocket {
		most = min(most, MaxFrameBody)
	}
	limit := MaxInFlight(own.RingCapacity, peer.RingCapacity)
	s := Session[C, S]{
		isClient: isClient, peer: peer, maxMetadata: int(own.MaxMetadata),
		Streams: NewStreams[S](isClient, own, peer),
		Served: Served{maxCalls: limit, most: int(most), limitsCalls: onSocket,
			maxHandlers: 2 * int(own.MaxStreams)},
	}
	s.Served.limitsPosts = !s.Streams.oneWay.exists
	ownCalls, peerCalls := limit, 0
	if s.nextNumber = 1; !isClient {
		s.nextNumber, ownCalls, peerCalls = 2, 0, limit
	}
	s.Calls, s.Served.numbers = NewCalls[C](ownCalls), newNumbers(peerCalls)
	return s
}

// MaxInFlight returns the maximum number of calls in flight.
func (s *Session[C, S]) MaxInFlight() int { return s.Served.maxCalls }

// MaxMessage returns the length of the largest message, including its metadata block and the prefix
// of that.
func (s *Session[C, S]) MaxMessage() int { return s.Served.most }

// IsGoingAway returns true once the server has asked for nothing new.
func (s *Session[C, S]) IsGoingAway() bool { return s.goingAway }

// MaxMetadata returns the length of the longest metadata block that the peer accepts.
func (s *Session[C, S]) MaxMetadata() int { return int(s.peer.MaxMetadata) }

// TakeNumber returns a free number of this side and advances past it.
func (s *Session[C, S]) TakeNumber() uint32 {
	for {
		number := s.nextNumber
		if s.nextNumber += 2; s.nextNumber == 0 {
			s.nextNumber = 2
		}
		if s.Calls.IsFree(number) && !s.Streams.Uses(number) {
			return number
		}
	}
}

// An Event is the effect of an entry for the owner. Fields without a meaning for the change keep
// their values.
type Event[C, S any] struct {
	StreamEvent[S]
	// Caller is the owner's handle of the caller that waits for the reply.
	Caller C
	// Metadata is the length of the metadata block of a message that has one.
	Metadata int
}

// HasPrefix returns true if Receive needs the first bytes of the body: for a window, and for a
// message with a metadata block.
func (h *Head) HasPrefix() bool {
	if h.Kind == KindMessage {
		return h.Flags.Has(FlagMetadata)
	}
	return h.Kind == KindWindow
}

// Receive validates an entry with a body of length bytes, and applies it. If the head has a prefix,
// prefix holds the first 8 bytes of the body, little-endian, padded with zeros.
func (s *Session[C, S]) Receive(head *Head, length int, prefix uint64, event *Event[C, S]) error {
	if head.Kind != KindMessage {
		return s.control(head, length, prefix, event)
	}
	flags := head.Flags
	isOpening := flags.Has(FlagOpen)
	if isOpening && (s.Served.numbers.has(head.Stream) || s.Streams.Uses(head.Stream)) {
		return fmt.Errorf("a message opens number %d, which is in use", head.Stream)
	}
	if flags&(FlagMetadata|FlagEmpty) != 0 {
		var err error
		if event.Metadata, length, err = s.checkBody(flags, length, prefix); err != nil {
			return err
		}
	}
	if isOpening && !s.isClient && !flags.Has(FlagStream) {
		event.Change = Requested
		return s.request(head, length)
	}
	var err error
	if !isOpening && s.isClient && s.Calls.Awaits(head.Stream) {
		event.Caller, event.Change, err = s.Calls.answer(head)
		return err
	}
	if flags&(FlagError|FlagNoReply) != 0 || flags.Has(FlagStream) != isOpening {
		return fmt.Errorf("flags %#02x do not belong together here", flags)
	}
	err = s.Streams.Message(head, length, &event.StreamEvent)
	if err == nil && isOpening {
		s.Served.streams++
	}
	return err
}

// checkBody validates the metadata block of a body, or of a body without a message. It returns the
// lengths of the block and of the message behind it.
func (s *Session[C, S]) checkBody(flags Flags, length int, prefix uint64) (int, int, error) {
	if flags.Has(FlagMetadata) {
		block, err := metadataLen(length, uint16(prefix), s.maxMetadata)
		return block, length - MetadataPrefix - block, err
	}
	if flags.Has(FlagLent) {
		return 0, 0, fmt.Errorf("flags %#02x lend nothing", flags)
	}
	return 0, length, nil
}

// control applies an entry that is not a message.
func (s *Session[C, S]) control(head *Head, length int, prefix uint64, event *Event[C, S]) error {
	event.Change = Ignored
	switch head.Kind {
	case KindWindow:
		if length != WindowLen {
			return fmt.Errorf("a window of %d bytes", length)
		}
		return s.Streams.Window(head.Stream, head.Tag, prefix, &event.StreamEvent)
	case KindReset, KindCancel, KindGoAway, KindShutdown:
		if length != 0 {
			return fmt.Errorf("an entry of kind %d with a body of %d bytes", head.Kind, length)
		}
	}
	switch {
	case head.Kind == KindReset:
		return s.Streams.PeerReset(head.Stream, ErrorCode(head.Tag), &event.StreamEvent)
	case head.Kind == KindCancel && s.isClient:
		return fmt.Errorf("a cancel from a server")
	case head.Kind == KindCancel:
		event.Change = Cancelled
	case head.Kind == KindGoAway && !s.isClient:
		return fmt.Errorf("a go-away from a client")
	case head.Kind == KindGoAway && s.goingAway:
		return fmt.Errorf("a second go-away")
	case head.Kind == KindGoAway:
		s.goingAway = true
		event.Change = SentAway
	case head.Kind == KindShutdown:
		event.Change = Closed
		s.Ending.closed()
	default:
		return fmt.Errorf("an unexpected entry of kind %d", head.Kind)
	}
	return nil
}

// request validates a call, or a one-way message.
func (s *Session[C, S]) request(head *Head, length int) error {
	const may = FlagLent | FlagNoReply | FlagMetadata
	if head.Flags&^may != RequestFlags {
		return fmt.Errorf("a message with flags %#02x is not a request", head.Flags)
	}
	if head.Stream%2 == 0 {
		return fmt.Errorf("a request on stream %d; clients use odd numbers", head.Stream)
	}
	if !head.Flags.Has(FlagNoReply) {
		if s.Served.calls == s.Served.maxCalls {
			return fmt.Errorf("more calls in flight than the agreed %d", s.Served.maxCalls)
		}
		s.Served.addCall(head.Stream, length)
		return nil
	}
	err := s.Streams.Posting(length)
	if err == nil {
		s.Served.addPost(length)
	}
	return err
}

// ---- taking up ----

// TakeUp records that a request was taken up: a call, or a one-way message of length bytes. It
// returns true if an entry is now due.
func (s *Session[C, S]) TakeUp(head *Head, length int) bool {
	if !head.Flags.Has(FlagNoReply) {
		s.Served.callBytes -= length
		s.Served.taken++
		return false
	}
	s.Served.posts--
	s.Served.postBytes -= length
	return s.Streams.TakePost(length)
}

// TakeUpStream records that a stream of the peer was taken up, or dropped.
func (s *Session[C, S]) TakeUpStream() { s.Served.streams-- }

// DropsStream returns true if more streams wait to be taken up than may be open at the same time.
// The owner then drops the oldest one that is over.
func (s *Session[C, S]) DropsStream() bool {
	return s.Served.streams > int(s.Streams.own.MaxStreams)
}

// ---- entries that are due ----

// GoAway makes a go-away entry due, once, if the client accepts it.
func (s *Session[C, S]) GoAway() {
	s.goAwayDue = s.goAwayDue || !s.goAwaySent && s.peer.TakesGoAway()
}

// AwaitsPeer returns true while the owner waits for entries of the peer or for the end of its
// connection. It returns false after that end, and while as many requests wait to be taken up as
// the limits allow.
func (s *Session[C, S]) AwaitsPeer() bool { return !s.Ending.IsGone() && !s.Served.isFlooded() }

// TakesEntries returns true while entries of the peer are read.
func (s *Session[C, S]) TakesEntries() bool { return !s.Ending.HasClosed() && s.AwaitsPeer() }

// IsIdle returns true if no caller on either side waits for a reply.
func (s *Session[C, S]) IsIdle() bool { return s.Calls.IsIdle() && s.Served.calls == 0 }

// IsServed returns true if the peer has begun the session's end, and all requests before it were
// served.
func (s *Session[C, S]) IsServed() bool {
	served := &s.Served
	return s.Ending.IsByPeer() && served.calls+served.posts+served.streams == 0
}

// Allows returns true if an entry may be sent. After this side's shutdown no entry is sent, and
// after a client's end only replies are. After the server's go-away nothing new is begun.
func (s *Session[C, S]) Allows(head *Head) bool {
	if s.Ending.HasBegun() {
		return s.allowsReply(head)
	}
	return !s.goingAway || !head.Flags.Has(FlagOpen)
}

func (s *Session[C, S]) allowsReply(head *Head) bool {
	return !s.Ending.IsOwn() && head.Kind == KindMessage && s.Served.numbers.has(head.Stream)
}

// HasSentAway returns true once a go-away was sent to the client.
func (s *Session[C, S]) HasSentAway() bool { return s.goAwaySent }

// IsDue returns true if an entry may be due. After the end of either side none is.
func (s *Session[C, S]) IsDue() bool {
	return (s.goAwayDue || s.Streams.isDue) && !s.Ending.HasBegun()
}

// NextTransmit returns the next due entry, or false. The entry stays due until Transmitted.
func (s *Session[C, S]) NextTransmit() (Transmit[S], bool) {
	if !s.IsDue() {
		return Transmit[S]{}, false
	}
	if s.goAwayDue {
		return Transmit[S]{Head: Head{Kind: KindGoAway}}, true
	}
	return s.Streams.NextTransmit()
}

// Transmitted records that a due entry was published. It returns the stream that is now over, or
// nil.
func (s *Session[C, S]) Transmitted(sent Transmit[S]) *Stream[S] {
	if sent.Head.Kind == KindGoAway {
		s.goAwayDue, s.goAwaySent = false, true
		return nil
	}
	return s.Streams.Transmitted(sent)
}

// AppendBody appends the entry's body.
func (t *Transmit[S]) AppendBody(to []byte) []byte {
	if t.Head.Kind != KindWindow {
		return to
	}
	return binary.LittleEndian.AppendUint64(to, t.Bytes)
}
