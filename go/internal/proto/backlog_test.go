package proto

import "testing"

func TestABacklogHoldsUpWhatThePeerCanAskForInAnyNumber(t *testing.T) {
	for kind, waits := range map[Kind]bool{KindMessage: true, KindReset: true, KindWindow: true,
		KindCancel: false, KindGoAway: false, KindShutdown: false} {
		if !FitsBacklog(kind, MaxUnwritten-1) {
			t.Errorf("kind %d waits before the backlog is full", kind)
		}
		if FitsBacklog(kind, MaxUnwritten) == waits {
			t.Errorf("kind %d waits for a full backlog: %v", kind, !waits)
		}
	}
}
