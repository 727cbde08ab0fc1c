package proto

// An Ending is the end of a session as far as one side has seen it (section 1.1): the peer's, or
// its own. Behind a client's shutdown, a server serves the calls that came before, and all else is
// over.
type Ending struct {
	has end
	// roomMade is set if the peer has made room since RepliesElapsed was called; tooLate once a
	// reply has waited for long enough.
	roomMade, tooLate bool
}

// An end is a set of what ends a session.
type end uint8

const (
	ownShutdown  end = 1 << iota
	peerShutdown     // The peer has sent its shutdown.
	peerGone         // The peer's end of the connection is closed.
)

// HasClosed returns true behind the peer's shutdown. Nothing behind that is read.
func (e *Ending) HasClosed() bool { return e.has&peerShutdown != 0 }

// IsGone returns true once the peer's end of the connection is closed. Without a shutdown before
// that, the peer has died.
func (e *Ending) IsGone() bool { return e.has&peerGone != 0 }

// IsByPeer returns true once the peer has begun the end.
func (e *Ending) IsByPeer() bool { return e.has&(peerShutdown|peerGone) != 0 }

// HasBegun returns true once the session only ends: nothing new begins on it.
func (e *Ending) HasBegun() bool { return e.has != 0 }

// SaidShutdown notes that this side has sent its shutdown, or that the end of the connection is to
// say so. Nothing is sent behind it.
func (e *Ending) SaidShutdown() { e.has |= ownShutdown }

// closed notes the peer's shutdown.
func (e *Ending) closed() { e.has |= peerShutdown }

// Gone notes the end of the connection.
func (e *Ending) Gone() { e.has |= peerGone }

// RepliesWait returns true while replies for which there is no room wait for some.
func (e *Ending) RepliesWait() bool { return !e.tooLate && (e.HasClosed() || !e.IsGone()) }

// RoomMade notes that the peer has made room.
func (e *Ending) RoomMade() { e.roomMade = true }

// RepliesElapsed notes that replies have waited for as long as they may for a client that makes no
// room. It returns true if that is so: from then on none waits.
func (e *Ending) RepliesElapsed() bool {
	e.tooLate = e.tooLate || !e.roomMade
	e.roomMade = false
	return e.tooLate
}
