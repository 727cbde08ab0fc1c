package breezeway_test

import (
	"bytes"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// forgets creates a session, drops all references to it, and returns a reply of it.
func forgets(t *testing.T, address string, request []byte) breezeway.Message {
	ctx := within(t, time.Minute)
	conn, err := breezeway.Dial(ctx, address, dials()...)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := conn.Call(ctx, echo, request)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := conn.Open(ctx, bounceStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(ctx, request); err != nil {
		t.Fatal(err)
	}
	return reply
}

func liveClients() uint64 {
	for _, s := range breezeway.Statistics() {
		if s.Name == "breezeway_sessions" && s.Role == "client" {
			return s.Value
		}
	}
	return 0
}

func TestASessionThatTheProgramForgetsEndsInOrderAndLeavesNothing(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		ended := make(chan error, 1)
		address := goServer(t, carrier, echoes, bounce,
			breezeway.WithOnSessionEnd(func(_ breezeway.Peer, err error) { ended <- err }))
		runtime.GC()
		fds, maps, live := descriptors(t, os.Getpid()), mappings(t, os.Getpid()), liveClients()
		request := pattern(100_000, 1)
		reply := forgets(t, address, request)
		for isOver, end := false, time.After(20*time.Second); !isOver; {
			runtime.GC() // More than one may be needed, and finalizers run at any time.
			select {
			case err := <-ended:
				if isOver = true; err != nil {
					t.Errorf("the server's side ended with %v", err)
				}
			case <-end:
				t.Fatal("a session that nobody can reach goes on")
			case <-time.After(time.Millisecond):
			}
		}
		if now := liveClients(); now != live {
			t.Errorf("%d sessions are counted, where there were %d", now, live)
		}
		if !bytes.Equal(reply.Bytes(), request) {
			t.Error("a reply that was kept changed with the end of its session")
		}
		reply.Release()
		settles(t, os.Getpid(), fds, maps)
	})
}
