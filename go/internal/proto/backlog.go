package proto

// MaxUnwritten is the number of bytes that a socket has not taken from which on senders wait, as
// for a slot of a ring: a server serves the next request only when few of its earlier replies are
// left to be written (section 8).
const MaxUnwritten = 256 << 10

// FitsBacklog returns true if an entry may be added to so many bytes that a socket has not taken.
// Messages wait, and entries that the peer can make this side send in any number; of the others
// each session has few.
func FitsBacklog(kind Kind, unwritten int) bool {
	switch kind {
	case KindMessage, KindReset, KindWindow:
		return unwritten < MaxUnwritten
	}
	return true
}
