package breezeway

import "context"

// A StreamOpener opens streams to the client of a session. The client takes them by
// [Session.AcceptStream]. It may be kept and shared; once the session is over, it opens none.
type StreamOpener struct{ session *session }

// StreamOpener returns an opener of streams to the client.
func (c *Call) StreamOpener() StreamOpener { return StreamOpener{c.session} }

// StreamOpener returns an opener of further streams to the peer.
func (t *Stream) StreamOpener() StreamOpener { return StreamOpener{t.session} }

// Open opens a stream to the client like [Session.Open].
func (o StreamOpener) Open(ctx context.Context, method uint32) (*Stream, error) {
	return o.session.openStream(ctx, method, &outgoing{empty: true}, false)
}

// OpenWithMetadata opens a stream to the client like [Session.OpenWithMetadata].
func (o StreamOpener) OpenWithMetadata(
	ctx context.Context, method uint32, metadata []byte,
) (*Stream, error) {
	out := outgoing{metadata: metadata, hasMetadata: true, empty: true}
	return o.session.openStream(ctx, method, &out, false)
}
