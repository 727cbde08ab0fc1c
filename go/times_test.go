package breezeway

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

func TestNothingIsWrittenPastTheDeadline(t *testing.T) {
	conn := serveStreams(t, "shm", func(stream *Stream) { <-stream.session.done })
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
	conn := serveStreams(t, "shm", func(stream *Stream) { <-stream.session.done })
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
	conn := serveStreams(t, "shm", func(stream *Stream) {
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
