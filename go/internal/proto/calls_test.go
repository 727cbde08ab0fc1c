package proto

import "testing"

func TestCallsTakeNoReplyBeforeTheRequest(t *testing.T) {
	calls := NewCalls[int](4)
	reply := Head{Kind: KindMessage, Flags: FlagFin, Stream: 1}
	if _, _, err := calls.Answer(&reply); err == nil {
		t.Error("a reply to no call was taken")
	}
	call := calls.Begin(1, 7)
	if _, _, err := calls.Answer(&reply); err == nil {
		t.Error("a reply before its request was taken")
	}
	call.Sent()
	caller, wanted, err := calls.Answer(&reply)
	if caller != 7 || !wanted || err != nil {
		t.Errorf("the reply is caller %d's, wanted %v: %v", caller, wanted, err)
	}
	if _, _, err := calls.Answer(&reply); err == nil {
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
	_, wanted, err := calls.Answer(&Head{Kind: KindMessage, Flags: FlagFin, Stream: 1})
	if wanted || err != nil || !calls.HasRoom() || !calls.IsFree(1) {
		t.Errorf("answered late, the calls are %+v, wanted %v: %v", calls, wanted, err)
	}
}

func TestCallsValidateTheFlagsOfReplies(t *testing.T) {
	for flags := range 256 {
		calls := NewCalls[int](1)
		calls.Begin(1, 7).Sent()
		_, _, err := calls.Answer(&Head{Kind: KindMessage, Flags: Flags(flags), Stream: 1})
		const may = FlagLent | FlagError | FlagMetadata
		if isReply := Flags(flags)|may == FlagFin|may; (err == nil) != isReply {
			t.Errorf("flags %#02x: %v", flags, err)
		}
	}
}
