package breezeway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

func TestTheContextOfAStreamIsDoneOnceTheStreamOrItsSessionIsOver(t *testing.T) {
	streams := make(chan *Stream, 1)
	end := make(chan struct{})
	defer close(end)
	conn := serveStreams(t, "shm", func(ctx context.Context, stream *Stream) {
		streams <- stream
		select {
		case <-ctx.Done():
		case <-end:
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	begin := func() (here, there *Stream) {
		here, err := conn.Open(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		there = soon(t, "the stream", streams)
		if there.Context() != there.Context() {
			t.Error("a stream has two contexts")
		}
		if _, has := there.Context().Deadline(); !has {
			t.Error("the context has no deadline where the peer has said one")
		}
		return here, there
	}
	here, there := begin()
	here.Reset(CodeCancelled)
	soon(t, "the end of the context with its stream", there.Context().Done())
	_, there = begin()
	_ = conn.Close()
	soon(t, "the end of the context with its session", there.Context().Done())
}

// The result is the same before and after the end has arrived.
func TestAStreamOfWhichTheEndWasNotReadIsResetByClose(t *testing.T) {
	served := make(chan error, 1)
	server := &Server{handler: echoCall, streams: func(_ context.Context, stream *Stream) {
		m, err := stream.Recv(context.Background())
		m.Release()
		hasEnded := func() bool {
			stream.session.mu.Lock()
			defer stream.session.mu.Unlock()
			return stream.state.RecvState() == proto.RecvEnd
		}
		for err == nil && !hasEnded() {
			runtime.Gosched()
		}
		served <- errors.Join(err, stream.Close())
	}}
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	if err := server.listen(address); err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()
	client := dialByHand(t, address, smallHello())
	opening := aFrame(proto.KindMessage,
		proto.FlagOpen|proto.FlagStream|proto.FlagFin, 1, []byte("x"))
	if _, err := client.conn.Write(opening); err != nil {
		t.Fatal(err)
	}
	if err := soon(t, "the handler's end", served); err != nil {
		t.Fatal(err)
	}
	want := proto.AppendFrame(nil, proto.Head{Kind: proto.KindReset, Stream: 1,
		Tag: uint32(proto.CodeCancelled)}, 0)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(client.conn, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%x came, not %x: %v", got, want, err)
	}
}

func TestCloseEndsAWriteThatWaitsForRoom(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		closes := make(chan struct{})
		serveQuietly(t, &Server{streams: func(_ context.Context, stream *Stream) {
			<-closes
			_ = stream.NetConn().Close()
		}}, address, WithStreamWindow(2, 1<<20))
		session := dialled(t, address)
		stream, err := session.Open(contextOf(t), 0)
		if err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() {
			for conn, err := stream.NetConn(), error(nil); ; {
				if _, err = conn.Write([]byte("message")); err != nil {
					written <- err
					return
				}
			}
		}()
		until(t, session.session, "the writer's wait", func() bool {
			return len(stream.writers) == 1
		})
		close(closes)
		if err := soon(t, "the end of the write", written); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the write ends with %v", err)
		}
	})
}
