package breezeway

import (
	"encoding/binary"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// oneWayWindow is the window of one-way messages between sides that both take streams (docs/abi.md,
// section 4.3), so that messages which nobody takes up stop neither streams nor calls. Without it,
// a server that has enough of them takes nothing more from its client.
type oneWayWindow struct {
	exists  bool
	credit  credit
	granted granted
	waiters []*waiter
}

func (w *oneWayWindow) init(own, peer *proto.Hello) {
	w.exists = own.MaxStreams > 0 && peer.MaxStreams > 0
	w.credit = newCredit(maxOneWay, min(own.PayloadCap, peer.PayloadCap))
	w.granted = granted{credit: w.credit}
}

func (w *oneWayWindow) allows() bool { return !w.exists || w.credit.allows() }

func (w *oneWayWindow) isDue() bool { return w.exists && w.granted.isDue() }

// received judges a message that came.
func (w *oneWayWindow) received(length int) error {
	if !w.exists {
		return nil
	}
	return w.granted.take(length)
}

// sent notes that a message was published.
func (w *oneWayWindow) sent(length int) {
	if w.exists {
		w.credit.spend(length)
	}
}

// takenUp notes that a message is being served.
func (s *session) takenUp(length int) {
	if !s.oneWays.exists {
		return
	}
	s.oneWays.granted.consume(length)
	if s.oneWays.isDue() {
		s.owes = true
		s.settle()
	}
}

// waitForOneWayWindow waits until a one-way message may start.
func (s *session) waitForOneWayWindow(lim limit) error {
	for !s.oneWays.allows() {
		s.flush() // What was posted before is what the other side is to take up.
		w := s.newWaiter()
		s.oneWays.waiters = append(s.oneWays.waiters, w)
		err := s.wait(w, lim, s.oneWays.allows)
		remove(&s.oneWays.waiters, w)
		s.freeWaiter(w)
		if err != nil {
			return err
		}
	}
	return nil
}

// receiveWindow takes in what the other side has taken up, of a stream or, on stream 0, of one-way
// messages.
func (s *session) receiveWindow(head proto.Head, body [8]byte) error {
	if head.Stream != 0 || !s.isClient || !s.oneWays.exists {
		return s.streams.receiveWindow(head, body)
	}
	err := s.oneWays.credit.add(head.Tag, binary.LittleEndian.Uint64(body[:]))
	wake(&s.oneWays.waiters, false)
	return err
}

// nextControl is the next entry that is owed.
func (s *session) nextControl() (control, bool) {
	if s.goAwayDue {
		return control{head: proto.Head{Kind: proto.KindGoAway}}, true
	}
	if w := &s.oneWays; w.isDue() {
		head := proto.Head{Kind: proto.KindWindow, Tag: w.granted.consumedMessages}
		return control{head: head, bytes: w.granted.consumedBytes}, true
	}
	return s.streams.nextControl()
}

// controlSent notes that it was published.
func (s *session) controlSent(sent control) {
	switch {
	case sent.head.Kind == proto.KindGoAway:
		s.goAwayDue, s.told = false, true
		return
	case sent.stream == nil:
		s.oneWays.granted.giveBack()
		return
	}
	s.streams.controlSent(sent)
}
