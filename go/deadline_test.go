package breezeway

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// TestACallsTimeRunsFromItsReceipt makes the second call wait until the first one was served.
func TestACallsTimeRunsFromItsReceipt(t *testing.T) {
	const patience = time.Minute
	for name, offload := range map[string]int{"inline": 0, "offloaded": 1} {
		t.Run(name, func(t *testing.T) {
			began, release := make(chan time.Time, 2), make(chan struct{})
			address := "unix:" + filepath.Join(t.TempDir(), "s")
			server, _ := quietServer(t, address, func(call *Call) error {
				deadline, said := call.Deadline()
				if !said {
					t.Error("a call has no deadline")
				}
				began <- deadline
				<-release
				return call.Echo()
			}, Offload(offload))
			client := dialByHand(t, address, smallHello())
			var frames []byte
			for stream := range uint32(2) {
				frames = proto.AppendFrame(frames, proto.Head{Kind: proto.KindMessage,
					Flags: proto.RequestFlags, Stream: 2*stream + 1,
					Time: proto.EncodeTime(patience)}, 0)
			}
			if _, err := client.conn.Write(frames); err != nil {
				t.Fatal(err)
			}
			first := soon(t, "the first call", began)
			s := sessionOf(t, server)
			until(t, s, "the second call", func() bool {
				return s.rules.Served.Running()+s.waiting == 2
			})
			received := time.Now()
			for !time.Now().After(received.Add(10 * time.Millisecond)) {
			}
			close(release)
			second := soon(t, "the second call", began)
			most, _ := proto.DecodeTime(proto.EncodeTime(patience))
			if second.Before(first) || second.After(received.Add(most)) {
				t.Errorf("%v after its receipt, a call has %v", time.Since(received),
					time.Until(second))
			}
		})
	}
}
