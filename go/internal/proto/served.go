package proto

import "fmt"

// Served counts the requests of the peer that were received: calls until they are replied to, and
// one-way messages and streams until they are taken up.
type Served struct {
	calls     int
	taken     int // of the calls, those that were taken up
	callBytes int // of the calls that were not taken up
	posts     int
	postBytes int
	streams   int
	// most is the most bytes of requests that are kept. Those of calls count on a socket only: in
	// shared memory, the lends bound them.
	most        int
	limitsCalls bool
}

// Calls returns the number of calls that were received and not replied to.
func (s *Served) Calls() int { return s.calls }

// Running returns the number of calls that were taken up and not replied to.
func (s *Served) Running() int { return s.taken }

// Streams returns the number of streams that were opened by the peer and not taken up.
func (s *Served) Streams() int { return s.streams }

// IsFlooded returns true if more waits to be taken up than is to be kept.
func (s *Served) IsFlooded() bool {
	return s.posts > MaxOneWay || s.postBytes > s.most || s.limitsCalls && s.callBytes > s.most
}

// CallEnded notes that a call which was taken up was replied to, or never is.
func (s *Served) CallEnded() {
	s.calls--
	s.taken--
}

func (s *Served) addPost(length int) {
	s.posts++
	s.postBytes += length
}

func (s *Served) addCall(length, maxInFlight int) error {
	s.calls++
	s.callBytes += length
	if s.calls > maxInFlight {
		return fmt.Errorf("more calls in flight than the agreed %d", maxInFlight)
	}
	return nil
}
