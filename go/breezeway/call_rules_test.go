package breezeway

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

func TestASecondReplyBreaksARule(t *testing.T) {
	options := defaults()
	hello := options.hello(true)
	s := &session{rules: proto.NewSession[*waiter, *Stream](true, hello, hello, false)}
	s.rules.Calls.Begin(1, &waiter{ch: make(chan bool, 1)}).Sent()
	head := proto.Head{Kind: proto.KindMessage, Flags: proto.FlagFin, Stream: 1}
	s.in.entry.Head = head
	if err := s.dispatch(); err != nil {
		t.Fatal(err)
	}
	var broken *ViolationError
	if err := s.dispatch(); !errors.As(err, &broken) {
		t.Fatalf("a second reply before the first was taken: %v", err)
	}
}

func TestAReplyToARequestThatWaitsForRoomBreaksARule(t *testing.T) {
	const ring = 8
	answered := make(chan struct{})
	address := lyingServer(t, func(l *liar) {
		// The peer reads nothing of its ring, and replies to the call that does not fit into it.
		l.await("the call's wait for room", func() bool {
			return l.control.Load(proto.SpaceWakeAt) != proto.Idle
		})
		head := proto.Head{Kind: proto.KindMessage, Flags: proto.FlagFin, Stream: 2*ring + 1}
		l.publish(head, 0, nil)
		<-answered
		l.close()
	})
	conn, err := Dial(contextOf(t), address, WithRingCapacity(ring), WithWaitPolicy(Park))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer close(answered)
	for range ring {
		if err := conn.Post(contextOf(t), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Call(contextOf(t), 0, nil); !errors.As(err, new(*ViolationError)) {
		t.Fatalf("the call ended with %v", err)
	}
}

func TestAServerWithoutAHandlerFailsCallsAndLogsNothing(t *testing.T) {
	logged := make(chan string, 10)
	server := &Server{log: slog.New(slog.NewTextHandler(writer(func(line []byte) (int, error) {
		logged <- string(line)
		return len(line), nil
	}), nil))}
	if err := server.listen("shm:" + filepath.Join(t.TempDir(), "s")); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	defer func() {
		_ = server.Close()
		soon(t, "the server's end", served)
		close(logged)
		for line := range logged {
			t.Errorf("it has logged %s", line)
		}
	}()
	conn, err := Dial(contextOf(t), server.Addresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Post(contextOf(t), 0, nil); err != nil {
		t.Fatal(err)
	}
	_, err = conn.Call(contextOf(t), 0, nil)
	var failure *CallError
	if !errors.As(err, &failure) || failure.Code != CodeNoSuchMethod {
		t.Fatalf("the call ended with %v", err)
	}
}
