package proto

import (
	"testing"
)

// sessionOf returns one end of a session over shared memory whose sides accept two streams.
func sessionOf(isClient bool) *Session[int, int] {
	hello := &Hello{RingCapacity: 8, PayloadCap: 4096, MaxStreams: 2, StreamMessages: 4,
		StreamBytes: 100, MaxMetadata: 8}
	s := NewSession[int, int](isClient, hello, hello, false)
	return &s
}

func receive(s *Session[int, int], head Head, length int) (Change, error) {
	var event Event[int, int]
	err := s.Receive(&head, length, 0, &event)
	return event.Change, err
}

// Frames and servers' answers cover the other rules: see TestConversationsAreHeldByTheRulesAlone.
func TestEntriesThatNoFrameShowsAreViolations(t *testing.T) {
	for name, c := range map[string]struct {
		isClient bool
		before   []Head
		head     Head
		length   int
	}{
		"a lent message of no bytes": {head: Head{Kind: KindMessage,
			Flags: FlagOpen | FlagStream | FlagEmpty | FlagLent, Stream: 1}},
		"a short window":       {head: Head{Kind: KindWindow, Stream: 1}, length: 7},
		"a reset with a body":  {head: Head{Kind: KindReset, Stream: 1}, length: 1},
		"a cancel by a server": {isClient: true, head: Head{Kind: KindCancel, Stream: 1}},
		"a second go-away": {isClient: true, before: []Head{{Kind: KindGoAway}},
			head: Head{Kind: KindGoAway}},
		"a reserved kind": {head: Head{Kind: KindDeadline}},
		"an unknown kind": {head: Head{Kind: 10}},
		"a second reset before the answer": {before: []Head{
			{Kind: KindMessage, Flags: FlagOpen | FlagStream, Stream: 1},
			{Kind: KindReset, Stream: 1}}, head: Head{Kind: KindReset, Stream: 1}},
		"a reply to no call": {isClient: true, head: Head{Kind: KindMessage, Flags: FlagFin,
			Stream: 1}},
		"a call by a server": {isClient: true, head: Head{Kind: KindMessage, Flags: RequestFlags,
			Stream: 2}},
		"a stream of a server on an odd number": {isClient: true, head: Head{Kind: KindMessage,
			Flags: FlagOpen | FlagStream, Stream: 1}},
	} {
		s := sessionOf(c.isClient)
		for _, head := range c.before {
			if _, err := receive(s, head, 0); err != nil {
				t.Errorf("before %s: %v", name, err)
			}
		}
		if _, err := receive(s, c.head, c.length); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestNumbersInUseArePassedOver(t *testing.T) {
	s := sessionOf(true)
	s.Calls.Begin(s.TakeNumber(), 7)
	s.Streams.Open(s.TakeNumber(), 7)
	s.nextNumber = 0xffff_ffff
	for _, want := range []uint32{0xffff_ffff, 5, 7} {
		if number := s.TakeNumber(); number != want {
			t.Errorf("number %d in place of %d", number, want)
		}
	}
	server := sessionOf(false)
	server.nextNumber = 0xffff_fffe
	if first, second := server.TakeNumber(), server.TakeNumber(); first+4 != second {
		t.Errorf("behind number %#x comes %d", first, second)
	}
}

func TestGoAwayIsSentOnceToClientsThatTakeIt(t *testing.T) {
	s := sessionOf(false)
	for range 2 {
		s.GoAway()
		if due, found := s.NextTransmit(); found {
			s.Transmitted(due)
		}
	}
	if s.GoAway(); s.IsDue() || !s.HasSentAway() {
		t.Error("it is due again, or was not sent")
	}
	plain := NewSession[int, int](false, &Hello{}, &Hello{}, true)
	if plain.GoAway(); plain.IsDue() {
		t.Error("it is due for a client that does not take it")
	}
}

func TestFloodOfRequestsIsCountedUntilTheyAreTakenUp(t *testing.T) {
	s := sessionOf(false)
	post := Head{Kind: KindMessage, Flags: OneWayFlags, Stream: 1}
	if change, err := receive(s, post, 4096); change != Requested || err != nil {
		t.Fatal(change, err)
	}
	if s.Served.isFlooded() {
		t.Error("one message of all bytes is a flood")
	}
	s = sessionOf(false)
	for range MaxOneWay { // Only their window stops them.
		if _, err := receive(s, post, 0); err != nil {
			t.Fatal(err)
		}
	}
	if s.Served.isFlooded() {
		t.Error("messages within their window are a flood")
	}
	plain := NewSession[int, int](false, &Hello{RingCapacity: 8, PayloadCap: 4096},
		&Hello{RingCapacity: 8, PayloadCap: 4096}, false)
	for count := range MaxOneWay { // Without a window.
		if plain.Served.isFlooded() {
			t.Fatalf("%d messages are a flood", count)
		}
		if _, err := receive(&plain, post, 0); err != nil {
			t.Fatal(err)
		}
	}
	if !plain.Served.isFlooded() {
		t.Error("as many messages as are kept are no flood")
	}
	if plain.TakeUp(&post, 0); plain.Served.isFlooded() {
		t.Error("it is a flood once one was taken up")
	}
}
