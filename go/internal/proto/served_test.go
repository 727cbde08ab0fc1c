package proto

import "testing"

func TestNumbersThatShareAPlaceAreAllKept(t *testing.T) {
	n := newNumbers(1)
	same := uint32(2 * len(n.slots))
	for _, number := range []uint32{1, 1 + same, 1 + 2*same} {
		if n.has(number) {
			t.Errorf("%d is in use before it was added", number)
		}
		n.add(number)
	}
	for _, number := range []uint32{1, 1 + 2*same, 1 + same} {
		if n.remove(number); n.has(number) {
			t.Errorf("%d is in use after it was removed", number)
		}
	}
	if n.add(1); !n.has(1) || n.has(1+same) {
		t.Errorf("with 1 alone, the numbers are %v", n)
	}
}

func TestHandlersOfStreamsAreBoundedByTwiceTheStreams(t *testing.T) {
	s := sessionOf(false) // Two streams may be open.
	for begun := range 4 {
		if !s.Served.BeginStream() {
			t.Fatalf("%d handlers are too many", begun)
		}
	}
	if s.Served.BeginStream() {
		t.Error("a fifth handler begins")
	}
	if s.Served.StreamServed(); !s.Served.BeginStream() {
		t.Error("none begins once one has ended")
	}
}

func TestASessionIsServedOnceAllThatCameBeforeItsEndIs(t *testing.T) {
	s := served(t)
	post := Head{Kind: KindMessage, Flags: OneWayFlags, Stream: 5}
	if _, err := receive(s, post, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := receive(s, Head{Kind: KindShutdown}, 0); err != nil {
		t.Fatal(err)
	}
	call := Head{Kind: KindMessage, Flags: RequestFlags, Stream: 1}
	for _, step := range []func(){
		func() { s.TakeUp(&call, 0) }, s.TakeUpStream, func() { s.TakeUp(&post, 0) },
		func() { s.Served.CallEnded(1) },
	} {
		if s.IsServed() {
			t.Error("it is served too early")
		}
		step()
	}
	if !s.IsServed() {
		t.Error("it is not served")
	}
	if s.TakesEntries() {
		t.Error("entries are read behind the end")
	}
}

func TestCallsThatWereNotBegunAreRefused(t *testing.T) {
	for flags, is := range map[Flags]bool{RequestFlags: true, OneWayFlags: false,
		FlagOpen | FlagStream: false} {
		reply, has := (&Head{Kind: KindMessage, Flags: flags, Stream: 7, Tag: 9}).Refusal()
		want := Head{Kind: KindMessage, Flags: FlagFin | FlagError, Stream: 7,
			Tag: uint32(CodeRefused)}
		if has != is || has && reply != want {
			t.Errorf("flags %#02x: %+v, %v", flags, reply, has)
		}
	}
}
