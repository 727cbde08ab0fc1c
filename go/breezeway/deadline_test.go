package breezeway

import (
	"context"
	"errors"
	"net"
	"os"
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
			server, _ := quietServer(t, address, func(_ context.Context, call *Call) error {
				deadline, said := call.Deadline()
				if !said {
					t.Error("a call has no deadline")
				}
				began <- deadline
				<-release
				return call.Echo()
			}, WithOffload(offload))
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

func TestNothingIsWrittenPastTheDeadline(t *testing.T) {
	conn := serveStreams(t, "shm", func(_ context.Context,
		stream *Stream) {
		<-stream.session.done
	})
	connection, err := conn.DialNet(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_ = connection.SetWriteDeadline(longAgo)
	if _, err := connection.Write([]byte("late")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write gave %v", err)
	}
	buffers := net.Buffers{[]byte("late")}
	if _, err := connection.(*streamConn).ReadFrom(&buffers); !errors.Is(err,
		os.ErrDeadlineExceeded) {
		t.Errorf("ReadFrom gave %v", err)
	}
	_ = connection.SetWriteDeadline(time.Time{})
	if _, err := connection.Write([]byte("in time")); err != nil {
		t.Error(err)
	}
}

func TestNothingIsBegunWithAContextThatIsDone(t *testing.T) {
	conn := serveStreams(t, "shm", func(_ context.Context,
		stream *Stream) {
		<-stream.session.done
	})
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := conn.Open(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	cancel()
	for what, do := range map[string]func() error{
		"Call":    func() error { _, err := conn.Call(ctx, 0, nil); return err },
		"Post":    func() error { return conn.Post(ctx, 0, nil) },
		"Open":    func() error { _, err := conn.Open(ctx, 0); return err },
		"Send":    func() error { return stream.Send(ctx, nil) },
		"DialNet": func() error { _, err := conn.DialNet(ctx); return err },
	} {
		if err := do(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s gave %v", what, err)
		}
	}
}

func TestEmptyMessagesDoNotKeepAReadPastItsDeadline(t *testing.T) {
	conn := serveStreams(t, "shm", func(_ context.Context, stream *Stream) {
		for range 2 {
			_ = stream.Send(context.Background(), nil)
		}
		_ = stream.Send(context.Background(), []byte("and more"))
		<-stream.session.done
	})
	connection, err := conn.DialNet(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	stream := connection.(*streamConn).stream
	conn.session.turnUntil(func() bool { return stream.queue.len() == 3 })
	_ = connection.SetReadDeadline(longAgo)
	n, err := connection.Read(make([]byte, 1))
	if n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read gave %d bytes, %v", n, err)
	}
}

func TestACallWhoseContextIsDoneIsNotSent(t *testing.T) {
	served := make(chan struct{}, 1)
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), func(_ context.Context,
		call *Call) error {
		served <- struct{}{}
		return call.Echo()
	})
	conn, err := Dial(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := conn.Call(ctx, 0, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if sent := conn.Counters().EntriesPublished; sent != 0 {
		t.Fatalf("%d entries were sent", sent)
	}
}
