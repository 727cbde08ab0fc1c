package proto

// MaxOneWay bounds the one-way messages that wait to be served. (Calls are bounded by those in
// flight, and streams by MaxStreams.)
const MaxOneWay = 1024

// oneWay is the window of one-way messages between sides that both take streams (section 4.3), so
// that messages which are not taken up stop neither streams nor calls. Without it, a server that
// has enough of them takes nothing more from its client.
type oneWay struct {
	exists  bool
	credit  credit
	granted granted
}

// newOneWay returns the window between sides with these hellos.
func newOneWay(own, peer *Hello) oneWay {
	whole := newCredit(MaxOneWay, min(own.PayloadCap, peer.PayloadCap))
	return oneWay{own.MaxStreams > 0 && peer.MaxStreams > 0, whole, granted{credit: whole}}
}

// allows returns true if a one-way message may start.
func (w *oneWay) allows() bool { return !w.exists || w.credit.allows() }

// sent notes that a message was published.
func (w *oneWay) sent(length int) {
	if w.exists {
		w.credit.spend(length)
	}
}

// receive validates a message that came.
func (w *oneWay) receive(length int) error {
	if !w.exists {
		return nil
	}
	return w.granted.take(length)
}

// consume notes that a message was taken up. It returns true if the peer is now to be given back
// what was.
func (w *oneWay) consume(length int) bool {
	if !w.exists {
		return false
	}
	w.granted.consume(length)
	return w.granted.isDue()
}
