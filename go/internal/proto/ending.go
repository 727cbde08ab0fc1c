package proto

// An Ending is the state of a session's end, by the peer or by this side, as far as this side has
// seen it (section 1.1). After a client's shutdown, a server serves the calls that came before, and
// nothing else continues.
type Ending struct {
	has end
	// roomMade is set if the peer has made room since the last RepliesElapsed, and tooLate once a
	// reply has waited too long.
	roomMade, tooLate bool
}

// An end is a set of events that end a session.
type end uint8

const (
	ownShutdown  end = 1 << iota
	peerShutdown     // The peer has sent its shutdown.
	peerGone         // The peer's end of the connection is closed.
)

// HasClosed returns true after the peer's shutdown. Later entries are not read.
func (e *Ending) HasClosed() bool { return e.has&peerShutdown != 0 }

// IsGone returns true once the peer's end of the connection is closed. Without a shutdown before
// that, the peer has died.
func (e *Ending) IsGone() bool { return e.has&peerGone != 0 }

// IsByPeer returns true once the peer has begun the end.
func (e *Ending) IsByPeer() bool { return e.has&(peerShutdown|peerGone) != 0 }

// HasBegun returns true once the session only ends: nothing new begins on it.
func (e *Ending) HasBegun() bool { return e.has != 0 }

// SaidShutdown records that this side has sent its shutdown, or that closing the connection
// replaces it. Nothing is sent afterwards.
func (e *Ending) SaidShutdown() { e.has |= ownShutdown }

// IsOwn returns true once this side has sent its shutdown.
func (e *Ending) IsOwn() bool { return e.has&ownShutdown != 0 }

// closed records the peer's shutdown.
func (e *Ending) closed() { e.has |= peerShutdown }

// Gone records the end of the connection.
func (e *Ending) Gone() { e.has |= peerGone }

// RepliesWait returns true while replies may wait for room.
func (e *Ending) RepliesWait() bool { return !e.tooLate && (e.HasClosed() || !e.IsGone()) }

// RoomMade records that the peer has made room.
func (e *Ending) RoomMade() { e.roomMade = true }

// RepliesElapsed records that replies have waited for one period. It returns true if the client has
// made no room in it. Replies do not wait any more then.
func (e *Ending) RepliesElapsed() bool {
	e.tooLate = e.tooLate || !e.roomMade
	e.roomMade = false
	return e.tooLate
}
