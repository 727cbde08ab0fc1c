package proto

// MaxOneWay bounds the one-way messages that wait to be served. (Calls are bounded by those in
// flight, and streams by MaxStreams.)
const MaxOneWay = 1024

// OneWay is the window of one-way messages between sides that both take streams (section 4.3), so
// that messages which are not taken up stop neither streams nor calls. Without it, a server that
// has enough of them takes nothing more from its client.
type OneWay struct {
	exists  bool
	credit  credit
	granted granted
}

// NewOneWay returns the window between sides with these hellos.
func NewOneWay(own, peer *Hello) OneWay {
	whole := newCredit(MaxOneWay, min(own.PayloadCap, peer.PayloadCap))
	return OneWay{own.MaxStreams > 0 && peer.MaxStreams > 0, whole, granted{credit: whole}}
}

// Allows returns true if a one-way message may start.
func (w *OneWay) Allows() bool { return !w.exists || w.credit.allows() }

// Sent notes that a message was published.
func (w *OneWay) Sent(length int) {
	if w.exists {
		w.credit.spend(length)
	}
}

// Receive validates a message that came.
func (w *OneWay) Receive(length int) error {
	if !w.exists {
		return nil
	}
	return w.granted.take(length)
}

// Consume notes that a message was taken up. It returns true if the peer is now to be given back
// what was.
func (w *OneWay) Consume(length int) bool {
	if !w.exists {
		return false
	}
	w.granted.consume(length)
	return w.granted.isDue()
}
