package proto

import (
	"fmt"
	"slices"
)

// Streams holds the open streams of a session by number (section 4.3), and the window of one-way
// messages.
type Streams[S any] struct {
	isClient     bool
	own, peer    *Hello
	byNumber     map[uint32]*Stream[S]
	openedHere   int
	openedByPeer int
	oneWay       oneWay
	// isDue is set while an entry may be due. due lists the streams with due entries.
	isDue bool
	due   []*Stream[S]
}

// NewStreams returns the empty set between sides with these hellos.
func NewStreams[S any](isClient bool, own, peer *Hello) Streams[S] {
	return Streams[S]{isClient: isClient, own: own, peer: peer,
		byNumber: map[uint32]*Stream[S]{}, oneWay: newOneWay(own, peer)}
}

// A Change is the effect of an entry for the owner.
type Change int

const (
	// Ignored is an entry that changes nothing.
	Ignored Change = iota
	// Dropped is a message that was in flight when this side reset its stream.
	Dropped
	// Opened is the first message of a stream. The owner sets the stream's Owner.
	Opened
	// Received is a message of a stream, or the end of the peer's direction.
	Received
	// WasReset is a reset of a stream by the peer.
	WasReset
	// StreamRoom is a window entry for a stream.
	StreamRoom
	// OneWayRoom is a window entry for one-way messages.
	OneWayRoom
	// Requested is a call or a one-way message, to be taken up.
	Requested
	// Answered is the reply to a call, which has ended.
	Answered
	// AnsweredLate is the reply to an abandoned call, which has ended.
	AnsweredLate
	// Cancelled is a call that the client has abandoned.
	Cancelled
	// SentAway is the server's request to begin nothing new.
	SentAway
	// Closed is the end of the session by the peer, in order.
	Closed
)

// A StreamEvent is the effect of an entry on a stream.
type StreamEvent[S any] struct {
	Change Change
	Stream *Stream[S]
	// First is set for the peer's first message on the stream.
	First bool
	// Drops is set if the owner must drop the received message, and those of the stream that were
	// not taken.
	Drops bool
	// Over is set if both directions have ended with the entry.
	Over bool
}

// Uses returns true if a stream has the number.
func (t *Streams[S]) Uses(number uint32) bool {
	return len(t.byNumber) > 0 && t.byNumber[number] != nil
}

// Each calls visit with the owner's handle of each stream.
func (t *Streams[S]) Each(visit func(owner S)) {
	for _, stream := range t.byNumber {
		visit(stream.Owner)
	}
}

// IsOurs returns true if this side assigns the number.
func (t *Streams[S]) IsOurs(number uint32) bool { return number%2 == 1 == t.isClient }

// OpenedByPeer returns the number of streams that the peer has opened and that are not over.
func (t *Streams[S]) OpenedByPeer() int { return t.openedByPeer }

func (t *Streams[S]) add(number uint32) *Stream[S] {
	stream := &Stream[S]{
		number:  number,
		credit:  newCredit(t.peer.StreamMessages, t.peer.StreamBytes),
		granted: granted{credit: newCredit(t.own.StreamMessages, t.own.StreamBytes)},
	}
	t.byNumber[number] = stream
	if t.IsOurs(number) {
		t.openedHere++
	} else {
		t.openedByPeer++
	}
	return stream
}

// settle frees the number of a stream that is over, and returns true then.
func (t *Streams[S]) settle(stream *Stream[S]) bool {
	if !stream.IsOver() || t.byNumber[stream.number] != stream {
		return false
	}
	// From now on the peer may reuse the number.
	stream.resetDue = false
	delete(t.byNumber, stream.number)
	if t.IsOurs(stream.number) {
		t.openedHere--
	} else {
		t.openedByPeer--
	}
	return true
}

// ---- opening and sending ----

// AreTaken returns true if the peer accepts streams.
func (t *Streams[S]) AreTaken() bool { return t.peer.MaxStreams > 0 }

// HasRoom returns true if this side may open another stream.
func (t *Streams[S]) HasRoom() bool { return t.openedHere < int(t.peer.MaxStreams) }

// Open counts a stream on a free number, before its first message is published.
func (t *Streams[S]) Open(number uint32, owner S) *Stream[S] {
	stream := t.add(number)
	stream.Owner = owner
	return stream
}

// Opened records that the first message was published.
func (t *Streams[S]) Opened(stream *Stream[S]) { stream.outgoing = open }

// NotOpened records that the first message was not published. The stream is over.
func (t *Streams[S]) NotOpened(stream *Stream[S]) {
	stream.outgoing, stream.incoming = reset, reset
	t.settle(stream)
}

// Sent records that a message was published that SendState has allowed. It returns true if the
// stream is now over.
func (t *Streams[S]) Sent(stream *Stream[S], length int, empty, last bool) bool {
	if !empty {
		stream.credit.spend(length)
	}
	switch {
	case last:
		stream.outgoing = finished
	case stream.outgoing == fresh:
		stream.outgoing = open
	}
	return last && t.settle(stream)
}

// Finish makes the last entry of this side due, one without a message.
func (t *Streams[S]) Finish(stream *Stream[S]) {
	stream.finDue = true
	t.list(stream)
}

// MayPost returns true if a one-way message may be sent.
func (t *Streams[S]) MayPost() bool { return t.oneWay.allows() }

// Posted records that a one-way message was published.
func (t *Streams[S]) Posted(length int) { t.oneWay.sent(length) }

// ---- receiving ----

// Message validates a message on an open stream, or one that opens a stream. The length excludes
// the metadata.
func (t *Streams[S]) Message(head *Head, length int, event *StreamEvent[S]) error {
	stream, change := t.byNumber[head.Stream], Received
	switch isOpening := head.Flags.Has(FlagOpen); {
	case isOpening && (stream != nil || head.Stream == 0 || t.IsOurs(head.Stream)):
		return fmt.Errorf("stream %d cannot be opened by the peer now", head.Stream)
	case isOpening && t.openedByPeer == int(t.own.MaxStreams):
		return fmt.Errorf("more streams than the %d that this side takes", t.own.MaxStreams)
	case isOpening:
		stream, change = t.add(head.Stream), Opened
	case stream == nil:
		return fmt.Errorf("a message on stream %d, which is not open", head.Stream)
	}
	first, drops := stream.incoming == fresh, false
	wanted, err := stream.receive(head.Flags, length)
	switch {
	case err != nil && change == Opened:
		t.NotOpened(stream) // It has no owner.
		return err
	case err != nil:
		return err
	case !wanted:
		change = Dropped
	case stream.discards:
		drops = true
		if !stream.incoming.isOver() {
			t.resetNow(stream, CodeCancelled)
		}
	case !head.Flags.Has(FlagEmpty):
		stream.queued++
	}
	*event = StreamEvent[S]{change, stream, first, drops, t.settle(stream)}
	return nil
}

// PeerReset applies a reset by the peer.
func (t *Streams[S]) PeerReset(number uint32, code ErrorCode, event *StreamEvent[S]) error {
	stream := t.byNumber[number]
	if stream == nil {
		return crossed(number)
	}
	if stream.incoming == reset {
		return fmt.Errorf("an entry behind the last one of stream %d", number)
	}
	if !stream.wasReset {
		stream.wasReset, stream.code = true, code
		stream.refuses = stream.incoming == finished
	}
	stream.incoming = reset
	if !stream.refuses {
		stream.queued = 0
	}
	t.answer(stream)
	*event = StreamEvent[S]{WasReset, stream, false, !stream.refuses, t.settle(stream)}
	return nil
}

// Window applies a window entry: messages and bytes that the peer has consumed on a stream or, for
// number 0, of one-way messages.
func (t *Streams[S]) Window(number, messages uint32, bytes uint64, event *StreamEvent[S]) error {
	if number == 0 && t.isClient && t.oneWay.exists {
		event.Change = OneWayRoom
		return t.oneWay.credit.add(messages, bytes)
	}
	stream := t.byNumber[number]
	if stream == nil {
		return crossed(number)
	}
	*event = StreamEvent[S]{Change: StreamRoom, Stream: stream}
	return stream.credit.add(messages, bytes)
}

// Posting validates a received one-way message.
func (t *Streams[S]) Posting(length int) error { return t.oneWay.receive(length) }

// crossed validates an entry for a stream that is over here. The entry has crossed this side's last
// one.
func crossed(number uint32) error {
	if number == 0 {
		return fmt.Errorf("an entry about stream 0, which is none")
	}
	return nil
}

// ---- taking, and letting go ----

// Take records that the oldest message was taken. It returns true if an entry is now due.
func (t *Streams[S]) Take(stream *Stream[S], length int) bool {
	stream.queued--
	stream.granted.consume(length)
	if stream.granted.isDue() && !stream.incoming.isOver() {
		t.list(stream)
		return true
	}
	return t.answer(stream)
}

// TakePost records that a one-way message was taken up. It returns true if an entry is now due.
func (t *Streams[S]) TakePost(length int) bool {
	isDue := t.oneWay.consume(length)
	t.isDue = t.isDue || isDue
	return isDue
}

// Reset ends both directions. The owner drops the messages that were not taken. Reset returns true
// if an entry is now due.
func (t *Streams[S]) Reset(stream *Stream[S], code ErrorCode) bool {
	stream.queued, stream.refuses = 0, false
	if stream.wasReset {
		return t.answer(stream)
	}
	if stream.IsOver() {
		stream.wasReset, stream.code = true, code
		return false
	}
	t.resetNow(stream, code)
	return true
}

func (t *Streams[S]) resetNow(stream *Stream[S], code ErrorCode) {
	stream.wasReset, stream.code, stream.resetDue = true, code, true
	t.list(stream)
}

// Discard makes later messages reset the stream. The owner drops those that were not taken. If the
// peer's window is used up, its sender may wait, and the stream is reset at once. Discard returns
// true if an entry is now due.
func (t *Streams[S]) Discard(stream *Stream[S]) bool {
	stream.queued, stream.discards = 0, true
	if !stream.wasReset && !stream.incoming.isOver() && !stream.granted.allows() {
		t.resetNow(stream, CodeCancelled)
		return true
	}
	return t.answer(stream)
}

// Close releases a stream. If this side has sent its last entry, later messages of the peer reset
// the stream. Otherwise a stream that the peer has opened and that was read to its end is ended by
// a last entry, and any other stream is reset. The owner drops the messages that were not taken.
// Close returns true if an entry is now due.
func (t *Streams[S]) Close(stream *Stream[S]) bool {
	if stream.outgoing == finished || stream.finDue {
		return t.Discard(stream)
	}
	endsInOrder := stream.isRead && stream.SendState(true) == SendNow
	if endsInOrder && !t.IsOurs(stream.number) {
		t.Finish(stream)
		return true
	}
	return t.Reset(stream, CodeCancelled)
}

// Forget records that the owner drops the messages of a stream that is over.
func (t *Streams[S]) Forget(stream *Stream[S]) { stream.queued = 0 }

// answer makes the answer to a reset due once it may be sent.
func (t *Streams[S]) answer(stream *Stream[S]) bool {
	isDue := stream.answerReset()
	if isDue {
		t.list(stream)
	}
	return isDue
}

// ---- entries that are due ----

// A Transmit is a due entry. Bytes is the body of a window entry.
type Transmit[S any] struct {
	Head   Head
	Bytes  uint64
	stream *Stream[S]
}

func (t *Streams[S]) list(stream *Stream[S]) {
	t.isDue = true
	if !stream.listed {
		stream.listed = true
		t.due = append(t.due, stream)
	}
}

// NextTransmit returns the next due entry, or false. The entry stays due until Transmitted.
func (t *Streams[S]) NextTransmit() (Transmit[S], bool) {
	if w := &t.oneWay; w.exists && w.granted.isDue() {
		head := Head{Kind: KindWindow, Tag: w.granted.consumedMessages}
		return Transmit[S]{Head: head, Bytes: w.granted.consumedBytes}, true
	}
	for len(t.due) > 0 {
		stream := t.due[0]
		head := Head{Stream: stream.number}
		// A reset takes nothing of this side's messages back if it comes behind the last one.
		isEnding := stream.finDue && stream.discards
		if stream.resetDue && !isEnding {
			head.Kind, head.Tag = KindReset, uint32(stream.code)
			return Transmit[S]{Head: head, stream: stream}, true
		}
		if stream.finDue {
			head.Kind, head.Flags = KindMessage, FlagFin|FlagEmpty
			return Transmit[S]{Head: head, stream: stream}, true
		}
		if stream.granted.isDue() && !stream.incoming.isOver() {
			head.Kind, head.Tag = KindWindow, stream.granted.consumedMessages
			return Transmit[S]{head, stream.granted.consumedBytes, stream}, true
		}
		stream.listed = false
		t.due = slices.Delete(t.due, 0, 1)
	}
	t.isDue = false
	return Transmit[S]{}, false
}

// Transmitted records that a due entry was published. It returns the stream that is now over, or
// nil.
func (t *Streams[S]) Transmitted(sent Transmit[S]) *Stream[S] {
	stream := sent.stream
	switch {
	case stream == nil:
		t.oneWay.granted.giveBack()
		return nil
	case sent.Head.Kind == KindWindow:
		stream.granted.giveBack()
		return nil
	case sent.Head.Kind == KindMessage:
		stream.outgoing, stream.finDue = finished, false
	default:
		stream.outgoing, stream.resetDue, stream.finDue = reset, false, false
	}
	if !t.settle(stream) {
		return nil
	}
	return stream
}
