package proto

// An Ending is the end of a session as far as one side has seen it (section 1.1): the peer's, or
// its own. Behind a client's shutdown, a server serves the calls that came before, and all else is
// over.
type Ending struct {
	hasBegun     bool // one of the three below
	saidShutdown bool
	hasClosed    bool // The peer has sent its shutdown.
	isGone       bool // The peer's end of the connection is closed.
	// hasTaken is set if the peer has made room since Elapsed was called; tooLate once a reply has
	// waited for long enough.
	hasTaken, tooLate bool
}

// HasClosed returns true behind the peer's shutdown. Nothing behind that is read.
func (e *Ending) HasClosed() bool { return e.hasClosed }

// IsGone returns true once the peer's end of the connection is closed. Without a shutdown before
// that, the peer has died.
func (e *Ending) IsGone() bool { return e.isGone }

// HasBegun returns true once the session only ends: nothing new begins on it.
func (e *Ending) HasBegun() bool { return e.hasBegun }

// SaidShutdown notes that this side has sent its shutdown, or that the end of the connection is to
// say so. Nothing is sent behind it.
func (e *Ending) SaidShutdown() { e.hasBegun, e.saidShutdown = true, true }

// closed notes the peer's shutdown.
func (e *Ending) closed() { e.hasBegun, e.hasClosed = true, true }

// Gone notes the end of the connection.
func (e *Ending) Gone() { e.hasBegun, e.isGone = true, true }

// RepliesWait returns true while replies for which there is no room wait for some.
func (e *Ending) RepliesWait() bool { return !e.tooLate && (e.hasClosed || !e.isGone) }

// Taken notes that the peer has made room.
func (e *Ending) Taken() { e.hasTaken = true }

// Elapsed notes that replies have waited for as long as they may for a client that takes none. It
// returns true if that is so: from then on none waits.
func (e *Ending) Elapsed() bool {
	e.tooLate = e.tooLate || !e.hasTaken
	e.hasTaken = false
	return e.tooLate
}
