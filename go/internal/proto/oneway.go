package proto

// MaxOneWay bounds the one-way messages that wait to be served. (Calls are bounded by the limit on
// calls in flight, and streams by MaxStreams.)
const MaxOneWay = 1024

// A oneWay is the window of one-way messages. It exists between sides that both accept streams
// (section 4.3), so that messages which are not taken up delay neither streams nor calls. Without
// the window, a server with enough such messages takes no entries from its client.
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

// sent records that a message was published.
func (w *oneWay) sent(length int) {
	if w.exists {
		w.credit.spend(length)
	}
}

// receive validates a received message.
func (w *oneWay) receive(length int) error {
	if !w.exists {
		return nil
	}
	return w.granted.take(length)
}

// consume records that a message was taken up. It returns true if a window entry is now due.
func (w *oneWay) consume(length int) bool {
	if !w.exists {
		return false
	}
	w.granted.consume(length)
	return w.granted.isDue()
}
