package proto

import "testing"

func TestCallsTakeNoReplyBeforeTheRequest(t *testing.T) {
	calls := NewCalls[int](4)
	reply := Head{Kind: KindMessage, Flags: FlagFin, Stream: 1}
	if _, _, err := calls.answer(&reply); err == nil {
		t.Error("a reply to no call was taken")
	}
	call := calls.Begin(1, 7)
	if _, _, err := calls.answer(&reply); err == nil {
		t.Error("a reply before its request was taken")
	}
	call.Sent()
	caller, change, err := calls.answer(&reply)
	if caller != 7 || change != Answered || err != nil {
		t.Errorf("the reply is caller %d's, change %d: %v", caller, change, err)
	}
	if _, _, err := calls.answer(&reply); err == nil {
		t.Error("a second reply was taken")
	}
}

func TestCallsGivenUpCountUntilTheirReply(t *testing.T) {
	calls := NewCalls[int](1)
	call := calls.Begin(1, 7)
	call.Sent()
	if head := calls.GiveUp(call); head != (Head{Kind: KindCancel, Stream: 1}) {
		t.Errorf("the server is told %+v", head)
	}
	if calls.HasRoom() || !calls.IsIdle() || calls.IsFree(1) || len(calls.Callers()) > 0 {
		t.Errorf("given up, the calls are %+v", calls)
	}
	_, change, err := calls.answer(&Head{Kind: KindMessage, Flags: FlagFin, Stream: 1})
	if change != AnsweredLate || err != nil || !calls.HasRoom() || !calls.IsFree(1) {
		t.Errorf("answered late, the calls are %+v, change %d: %v", calls, change, err)
	}
}

func TestCallsValidateTheFlagsOfReplies(t *testing.T) {
	for flags := range 256 {
		calls := NewCalls[int](1)
		calls.Begin(1, 7).Sent()
		_, _, err := calls.answer(&Head{Kind: KindMessage, Flags: Flags(flags), Stream: 1})
		const may = FlagLent | FlagError | FlagMetadata
		if isReply := Flags(flags)|may == FlagFin|may; (err == nil) != isReply {
			t.Errorf("flags %#02x: %v", flags, err)
		}
	}
}
