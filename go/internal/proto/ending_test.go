package proto

import "testing"

// served returns a server's end with a call on number 1 and a stream on number 3.
func served(t *testing.T) *Session[int, int] {
	s := sessionOf(false)
	request := Head{Kind: KindMessage, Flags: RequestFlags, Stream: 1}
	opening := Head{Kind: KindMessage, Flags: FlagOpen | FlagStream, Stream: 3}
	for _, head := range []Head{request, opening} {
		if _, err := receive(s, head, 0); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestBehindAShutdownRepliesAloneAreSent(t *testing.T) {
	s := served(t)
	stream := s.Streams.byNumber[3]
	s.Streams.Reset(stream, CodeCancelled)
	reply := Head{Kind: KindMessage, Flags: FlagFin, Stream: 1}
	others := []Head{{Kind: KindMessage, Stream: 3}, {Kind: KindShutdown}, {Kind: KindGoAway}}
	if !s.IsDue() || !s.Allows(&others[0]) {
		t.Error("before the shutdown, not all is sent")
	}
	if change, err := receive(s, Head{Kind: KindShutdown}, 0); change != Closed || err != nil {
		t.Fatal(change, err)
	}
	s.GoAway()
	if _, found := s.NextTransmit(); found || s.IsDue() {
		t.Error("an entry is due")
	}
	for _, head := range others {
		if s.Allows(&head) {
			t.Errorf("%+v is sent", head)
		}
	}
	if !s.Allows(&reply) {
		t.Error("a reply is not sent")
	}
	s.Ending.Gone()
	if !s.Allows(&reply) {
		t.Error("a reply is not sent to a client that is gone")
	}
	if s.Ending.SaidShutdown(); s.Allows(&reply) {
		t.Error("a reply is sent behind this side's own shutdown")
	}
}

func TestRepliesWaitBehindAShutdownWhileSomeAreTaken(t *testing.T) {
	var e Ending
	if !e.RepliesWait() {
		t.Error("they do not wait before the end")
	}
	e.closed()
	e.Gone() // One half of a socket may remain.
	for range 3 {
		if e.RoomMade(); e.RepliesElapsed() || !e.RepliesWait() {
			t.Error("they do not wait for a client that takes some")
		}
	}
	if !e.RepliesElapsed() || e.RepliesWait() {
		t.Error("they wait for a client that takes none")
	}
	if e.RoomMade(); !e.RepliesElapsed() {
		t.Error("they wait again")
	}
}

func TestRepliesWaitForNoClientThatHasDied(t *testing.T) {
	var e Ending
	e.Gone()
	if e.RepliesWait() || e.HasClosed() {
		t.Error("they wait")
	}
}

func TestBehindAGoAwayNothingIsBegun(t *testing.T) {
	s := sessionOf(true)
	stream := s.Streams.Open(1, 1)
	s.Streams.Opened(stream)
	if change, err := receive(s, Head{Kind: KindGoAway}, 0); change != SentAway || err != nil {
		t.Fatal(change, err)
	}
	for name, flags := range map[string]Flags{"a call": RequestFlags, "a post": OneWayFlags,
		"a stream": FlagOpen | FlagStream} {
		if s.Allows(&Head{Kind: KindMessage, Flags: flags, Stream: 3}) {
			t.Errorf("%s begins", name)
		}
	}
	for _, head := range []Head{{Kind: KindMessage, Stream: 1}, {Kind: KindCancel, Stream: 5},
		{Kind: KindShutdown}} {
		if !s.Allows(&head) {
			t.Errorf("%+v is not sent", head)
		}
	}
}
