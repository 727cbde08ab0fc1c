package breezeway

import (
	"bytes"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

func TestABacklogThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	link := &socketLink{limit: 1 << 20, writing: true}
	sent := bytes.Repeat([]byte{7}, 4096)
	for i := 0; i < 10_000; i++ {
		head := proto.Head{Kind: proto.KindMessage}
		if err := link.send(head, &outgoing{bytes: sent}); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			link.sent += 4096 + proto.FrameLen // A reader one message behind takes that.
		}
	}
	if cap(link.out) > 4*proto.MaxUnwritten {
		t.Fatalf("%d bytes are kept for %d that wait", cap(link.out), len(link.out)-link.sent)
	}
	if !bytes.Equal(link.out[link.sent+proto.FrameLen:], sent) {
		t.Fatal("the message that waits has changed")
	}
}

func TestArrivalsThatNeverRunOutDoNotGrow(t *testing.T) {
	s := &session{ledger: new(ledger)}
	for i := uint32(0); i < 10_000; i++ {
		s.arrive(&proto.Head{Stream: i}, &Message{}, nil)
		if i > 0 {
			var a arrival
			if s.nextArrival(&a); a.head.Stream != i-1 {
				t.Fatalf("arrival %d in place of %d", a.head.Stream, i-1)
			}
		}
	}
	if cap(s.arrivals) > 16 {
		t.Fatalf("room for %d arrivals, one waits", cap(s.arrivals))
	}
}
