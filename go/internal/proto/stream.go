package proto

import "fmt"

// A direction is the progress of one direction of a stream.
type direction int

const (
	fresh direction = iota
	open
	finished
	reset
)

func (d direction) isOver() bool { return d >= finished }

// A Stream is one end of a stream (section 4.3). Owner is the owner's handle. The owner keeps the
// messages that were not received by the application, and the Stream counts them.
type Stream[S any] struct {
	Owner  S
	number uint32

	outgoing, incoming direction
	credit             credit
	granted            granted
	queued             int
	code               ErrorCode
	wasReset           bool
	refuses            bool // the reset came behind the peer's last message, which is kept
	resetDue           bool
	finDue             bool // the last entry waits for room
	discards           bool
	isRead             bool // the owner has read the end
	listed             bool // among the streams with due entries
}

// Number returns the stream's number.
func (t *Stream[S]) Number() uint32 { return t.number }

// Code returns the code of a reset by either side.
func (t *Stream[S]) Code() ErrorCode { return t.code }

// IsOver returns true if both directions have ended, so that the number is free.
func (t *Stream[S]) IsOver() bool { return t.outgoing.isOver() && t.incoming.isOver() }

// ReadEnd records that the reader was given the peer's end.
func (t *Stream[S]) ReadEnd() { t.isRead = true }

// IsActive returns true if neither direction has ended.
func (t *Stream[S]) IsActive() bool {
	return !t.wasReset && !t.outgoing.isOver() && !t.finDue && !t.incoming.isOver()
}

// HasBegun returns true if this side has sent an entry on the stream.
func (t *Stream[S]) HasBegun() bool { return t.outgoing != fresh }

// WasReset returns true if either side has reset the stream.
func (t *Stream[S]) WasReset() bool { return t.wasReset }

// A SendState is the state of a stream for its senders.
type SendState int

const (
	// SendNow means that a message may be sent.
	SendNow SendState = iota
	// SendLater means that the peer must consume messages first.
	SendLater
	// SendReset means that either side has reset the stream.
	SendReset
	// SendEnded means that this side has sent its last message.
	SendEnded
)

// SendState returns the state for a message, or for an entry without one if empty is true.
func (t *Stream[S]) SendState(empty bool) SendState {
	switch {
	case t.wasReset || t.resetDue:
		return SendReset
	case t.outgoing.isOver() || t.finDue:
		return SendEnded
	case empty || t.credit.allows():
		return SendNow
	}
	return SendLater
}

// A RecvState is the state of a stream for its readers.
type RecvState int

const (
	// RecvNothing means that a message may still arrive.
	RecvNothing RecvState = iota
	// RecvMessage means that a message can be taken.
	RecvMessage
	// RecvEnd means that all messages were taken and no more arrive.
	RecvEnd
	// RecvReset means that either side has reset the stream.
	RecvReset
)

// RecvState returns the state for a reader.
func (t *Stream[S]) RecvState() RecvState {
	switch {
	case t.wasReset && !t.refuses:
		return RecvReset
	case t.queued > 0:
		return RecvMessage
	case t.wasReset || t.incoming.isOver():
		return RecvEnd
	}
	return RecvNothing
}

// receive validates a received message. It returns false for one that was in flight when this side
// reset the stream.
func (t *Stream[S]) receive(flags Flags, length int) (wanted bool, err error) {
	isLast, isEmpty := flags.Has(FlagFin), flags.Has(FlagEmpty)
	if t.incoming.isOver() {
		return false, fmt.Errorf("an entry behind the last one of stream %d", t.number)
	}
	if atAnEnd := t.incoming == fresh || isLast; !atAnEnd && flags&(FlagMetadata|FlagEmpty) != 0 {
		return false, fmt.Errorf("flags %#02x in the middle of a stream", flags)
	}
	if !isEmpty {
		if err := t.granted.take(length); err != nil {
			return false, err
		}
	}
	t.incoming = open
	if isLast {
		t.incoming = finished
	}
	return !t.resetDue && t.outgoing != reset, nil
}

// answerReset makes the answer to the peer's reset due, but not while earlier messages wait to be
// taken: the answer frees the stream's number, and MaxStreams must bound the kept messages. It
// returns true if the answer is now due.
func (t *Stream[S]) answerReset() bool {
	if t.incoming != reset || t.queued > 0 || t.outgoing.isOver() || t.resetDue {
		return false
	}
	t.resetDue = true
	return true
}
