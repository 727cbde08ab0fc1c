package breezeway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A socket accepts only a part of the reply at once.
func TestAReplyIsWrittenWholeBehindTheShutdownOfItsClient(t *testing.T) {
	ended := make(chan error, 1)
	_, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), (*Call).Echo,
		OnSessionEnd(func(_ Peer, err error) { ended <- err }))
	client := dialByHand(t, address, smallHello())
	body := bytes.Repeat([]byte{7}, 4<<20)
	if err := client.ask(0, body); err != nil {
		t.Fatal(err)
	}
	if _, err := client.conn.Write(aFrame(proto.KindShutdown, 0, 0, nil)); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, proto.FrameLen+len(body))
	if n, err := io.ReadFull(client.conn, reply); err != nil {
		t.Fatalf("%d of %d bytes came: %v", n, len(reply), err)
	}
	if !bytes.Equal(reply[proto.FrameLen:], body) {
		t.Error("another body came")
	}
	if err := soon(t, "the session's end", ended); err != nil {
		t.Errorf("the session ends by %v", err)
	}
}

func TestAClientThatTakesNoReplyBehindItsShutdownHoldsNoSession(t *testing.T) {
	ended := make(chan error, 1)
	_, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), (*Call).Echo,
		OnSessionEnd(func(_ Peer, err error) { ended <- err }))
	client := dialByHand(t, address, smallHello())
	if err := client.ask(0, make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.conn.Write(aFrame(proto.KindShutdown, 0, 0, nil)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	soon(t, "the session's end", ended)
	if lasted := time.Since(began); lasted < linger/2 {
		t.Errorf("the session ended after %v, before its client had time to read", lasted)
	}
}

// The result is the same before and after the end has arrived.
func TestAStreamOfWhichTheEndWasNotReadIsResetByClose(t *testing.T) {
	served := make(chan error, 1)
	server := &Server{Handler: (*Call).Echo, Streams: func(stream *Stream) {
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
	if err := server.Listen(address); err != nil {
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
