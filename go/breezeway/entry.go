package breezeway

import (
	"context"
	"errors"
)

// An Entry is one entry of a stream: metadata, a message, the end of its direction, or several of
// these at once. Only the first and the last entry of a direction may have metadata, or no message.
type Entry struct {
	// Metadata is a metadata block, or nil for none.
	Metadata []byte
	// Message holds the pieces of a message, or is nil for none.
	Message [][]byte
	// Last ends this side's direction.
	Last bool
}

func (e *Entry) outgoing() outgoing {
	out := outgoing{metadata: e.Metadata, hasMetadata: e.Metadata != nil, empty: e.Message == nil}
	if len(e.Message) == 1 {
		out.bytes = e.Message[0]
	} else {
		out.pieces = e.Message
	}
	return out
}

var errMiddle = errors.New("breezeway: only the first and the last entry of a direction may have " +
	"metadata, or no message")

// OpenEntry opens a stream like [Session.Open], with its first entry. After an error for which
// [MayHaveRun] returns false, the server has received nothing of it.
func (s *Session) OpenEntry(ctx context.Context, method uint32, entry Entry) (*Stream, error) {
	out := entry.outgoing()
	stream, err := s.session.openStream(ctx, method, &out, entry.Last)
	if err != nil && !out.sent {
		err = &neverSentError{err}
	}
	return stream, err
}

// SendEntry sends an entry like [Stream.Send].
func (t *Stream) SendEntry(ctx context.Context, entry Entry) error {
	out := entry.outgoing()
	return t.send(ctx, &out, entry.Last)
}

// AwaitMetadata waits for the peer's first entry, and returns its metadata block, or nil if it has
// none. IsLast is true if that entry also ended the peer's direction.
func (t *Stream) AwaitMetadata(ctx context.Context) (block []byte, isLast bool, err error) {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.newWaiter()
	w.handsOn = true
	lim := limitOf(ctx)
	err = s.waitIn(&t.readers, w, &lim, func() bool { return t.hasFirst || t.hasNews() })
	switch {
	case t.hasFirst:
		return t.openMetadata, t.firstIsLast, nil
	case err != nil:
		return nil, false, timedOut(err)
	case t.state.WasReset():
		return nil, false, t.resetError()
	}
	return nil, false, s.ending()
}
