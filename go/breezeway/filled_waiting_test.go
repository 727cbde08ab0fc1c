package breezeway

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Many senders wait with messages that have no room in the cap together.
const (
	manySenders  = 40
	filledCap    = 1 << 20
	filledLength = filledCap / 8
	smallLength  = 10_000
)

func TestFilledMessagesThatAwaitWindowHoldNoMemory(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		release := make(chan struct{})
		server := &Server{handler: echoCall, streams: func(context.Context, *Stream) { <-release }}
		serveQuietly(t, server, address, WithStreamWindow(1, 1<<20), WithMaxStreams(manySenders))
		defer close(release)
		conn := dialled(t, address, WithCap(filledCap))
		ctx, cancel := context.WithCancel(contextOf(t))
		ended := make(chan error, manySenders)
		var streams []*Stream
		for range manySenders {
			stream, err := conn.Open(ctx, 0)
			if err == nil {
				err = stream.Send(ctx, []byte("one"))
			}
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, stream)
			go func() { ended <- stream.SendFilled(ctx, filledLength, filling(1)) }()
		}
		s := conn.session
		until(t, s, "a wait of each sender", func() bool {
			waiting := len(s.roomWaiters)
			for _, stream := range streams {
				waiting += len(stream.writers)
			}
			return waiting == manySenders
		})
		_, err := conn.Call(briefly(t, 5*time.Second), 0, make([]byte, smallLength))
		if err != nil {
			t.Error(err)
		}
		cancel()
		for range manySenders {
			if err := soon(t, "the end of a sender", ended); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

func TestFilledCallsThatAwaitOthersHoldNoMemory(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		release := make(chan struct{})
		_, address = quietServer(t, address, func(_ context.Context, call *Call) error {
			<-release
			return call.Reply(nil)
		}, WithOffload(manySenders))
		client := NewClient(address, WithCap(filledCap), WithRingCapacity(8))
		defer client.Close()
		conn, err := client.Session(contextOf(t))
		if err != nil {
			t.Fatal(err)
		}
		s, most := conn.session, conn.MaxInFlight()
		ended := make(chan error, manySenders+most)
		for range most {
			go func() {
				_, err := conn.Call(contextOf(t), 0, nil)
				ended <- err
			}()
		}
		until(t, s, "all calls", func() bool { return s.rules.Calls.InFlight() == most })
		for range manySenders {
			go func() {
				_, err := client.CallFilled(contextOf(t), 0, nil, filledLength, filling(1))
				ended <- err
			}()
		}
		until(t, s, "a wait of each call", func() bool {
			return len(s.callWaiters)+len(s.roomWaiters) == manySenders
		})
		if err := conn.Post(briefly(t, 5*time.Second), 1, make([]byte, smallLength)); err != nil {
			t.Error(err)
		}
		close(release)
		for range manySenders + most {
			if err := soon(t, "the end of a call", ended); err != nil {
				t.Error(err)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.rules.Calls.IsIdle() || !s.rules.Calls.HasRoom() {
			t.Error("a place of a call is still taken")
		}
	})
}

func TestFilledMessageOfEndedContextIsNotWritten(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		_, address = quietServer(t, address, echoCall)
		conn := dialled(t, address)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		write := func([]byte) error {
			t.Error("the message is written")
			return nil
		}
		err := conn.session.fillSpace(&outgoing{}, smallLength, write, limitOf(ctx))
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
