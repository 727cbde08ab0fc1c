package proto

// MaxUnwritten is the number of bytes that a socket has not accepted at which senders wait, as for
// an entry of a ring. A server therefore serves the next request only when few of its earlier
// replies remain to be written (section 8).
const MaxUnwritten = 256 << 10

// FitsBacklog returns true if an entry may be added to a backlog of unwritten bytes. Messages wait,
// and so do entries that the peer can cause in any number. Of the other kinds each session has few.
func FitsBacklog(kind Kind, unwritten int) bool {
	switch kind {
	case KindMessage, KindReset, KindWindow:
		return unwritten < MaxUnwritten
	}
	return true
}
