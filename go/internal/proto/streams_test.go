package proto

import "testing"

// streamsOf returns the streams of a server that accepts two, with windows of 4 messages.
func streamsOf() *Streams[int] {
	hello := &Hello{PayloadCap: 4096, MaxStreams: 2, StreamMessages: 4, StreamBytes: 100}
	streams := NewStreams[int](false, hello, hello)
	return &streams
}

func received(t *testing.T, streams *Streams[int], flags Flags, number uint32,
) StreamEvent[int] {
	t.Helper()
	var event StreamEvent[int]
	head := Head{Kind: KindMessage, Flags: flags, Stream: number}
	if err := streams.Message(&head, 1, &event); err != nil {
		t.Fatal(err)
	}
	return event
}

func TestStreamAnswersAResetOnceKeptMessagesAreTaken(t *testing.T) {
	streams := streamsOf()
	stream := received(t, streams, FlagOpen|FlagStream|FlagFin, 1).Stream
	var event StreamEvent[int]
	err := streams.PeerReset(1, CodeCancelled, &event)
	if err != nil || event.Drops || event.Over || streams.isDue {
		t.Fatalf("a reset behind the last message: %+v, %v", event, err)
	}
	if state := stream.RecvState(); state != RecvMessage {
		t.Errorf("the reader finds state %d", state)
	}
	if !streams.Take(stream, 1) {
		t.Error("the answer is not due")
	}
	due, _ := streams.NextTransmit()
	want := Head{Kind: KindReset, Stream: 1, Tag: uint32(CodeCancelled)}
	if due.Head != want || streams.Transmitted(due) != stream || streams.Uses(1) {
		t.Errorf("due was %+v, and the stream is %+v", due.Head, stream)
	}
}

func TestStreamDropsWhatComesBehindItsOwnReset(t *testing.T) {
	streams := streamsOf()
	stream := received(t, streams, FlagOpen|FlagStream, 1).Stream
	if !streams.Reset(stream, CodeFailed) || stream.RecvState() != RecvReset {
		t.Fatalf("after a reset, the stream is %+v", stream)
	}
	if event := received(t, streams, 0, 1); event.Change != Dropped {
		t.Errorf("a message under way changes %+v", event)
	}
	due, _ := streams.NextTransmit()
	if over := streams.Transmitted(due); over != nil {
		t.Error("it is over before the peer has answered")
	}
	var event StreamEvent[int]
	if err := streams.PeerReset(1, CodeFailed, &event); err != nil || !event.Over {
		t.Errorf("the answer changes %+v, %v", event, err)
	}
}

func TestStreamThatDiscardsResetsAtTheNextMessage(t *testing.T) {
	streams := streamsOf()
	stream := received(t, streams, FlagOpen|FlagStream, 1).Stream
	if streams.Discard(stream) {
		t.Error("an entry is due before a message comes")
	}
	event := received(t, streams, 0, 1)
	due, found := streams.NextTransmit()
	if !event.Drops || !found || due.Head.Kind != KindReset {
		t.Errorf("a message changes %+v, and due is %+v", event, due.Head)
	}
}

func TestStreamThatDiscardsResetsASenderThatWaits(t *testing.T) {
	streams := streamsOf()
	stream := received(t, streams, FlagOpen|FlagStream, 1).Stream
	for range 3 {
		received(t, streams, 0, 1)
	}
	streams.Finish(stream)
	if !streams.Discard(stream) {
		t.Error("no entry is due, and the sender's window is used up")
	}
	for _, want := range []Kind{KindMessage, KindReset} { // The end takes no message back.
		due, found := streams.NextTransmit()
		if !found || due.Head.Kind != want {
			t.Fatalf("due is %+v, and not kind %d", due.Head, want)
		}
		if streams.Transmitted(due) != nil {
			t.Error("the stream is over before the peer has answered")
		}
	}
	var event StreamEvent[int]
	if err := streams.PeerReset(1, CodeCancelled, &event); err != nil || !event.Over {
		t.Errorf("the answer changes %+v, %v", event, err)
	}
}

func TestStreamThatWasNotOpenedIsKeptNowhere(t *testing.T) {
	hello := &Hello{MaxStreams: 1} // Its window admits no message.
	streams := NewStreams[int](false, hello, hello)
	head := Head{Kind: KindMessage, Flags: FlagOpen | FlagStream, Stream: 1}
	err := streams.Message(&head, 1, new(StreamEvent[int]))
	if err == nil || streams.OpenedByPeer() > 0 {
		t.Errorf("%v, and the streams are %+v", err, streams)
	}
	stream := streams.Open(2, 7)
	if streams.NotOpened(stream); streams.Uses(2) || !streams.HasRoom() {
		t.Errorf("a stream whose opening did not leave is %+v", stream)
	}
}
