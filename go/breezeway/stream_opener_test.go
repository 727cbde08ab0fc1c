package breezeway_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// tell sends a message on a stream that the server opens.
func tell(ctx context.Context, opener breezeway.StreamOpener, text string) error {
	stream, err := opener.OpenWithMetadata(ctx, 7, []byte("news"))
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := stream.Send(ctx, []byte(text)); err != nil {
		return err
	}
	return stream.CloseSend()
}

func told(t *testing.T, session *breezeway.Session, text string) {
	t.Helper()
	ctx := within(t, time.Minute)
	stream, err := session.AcceptStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	m, err := stream.Recv(ctx)
	if err != nil || string(m.Bytes()) != text || stream.Method() != 7 {
		t.Errorf("the stream %d has %q, %v", stream.Method(), m.Bytes(), err)
	}
	if metadata, _ := stream.Metadata(); string(metadata) != "news" {
		t.Errorf("its metadata is %q", metadata)
	}
	if _, err := stream.Recv(ctx); err != io.EOF {
		t.Errorf("it ends with %v", err)
	}
}

func TestServerOpensStreamsToClient(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		openers := make(chan breezeway.StreamOpener, 1)
		calls := func(ctx context.Context, call *breezeway.Call) error {
			openers <- call.StreamOpener()
			if err := tell(ctx, call.StreamOpener(), "of a call"); err != nil {
				return err
			}
			return call.Reply(nil)
		}
		streams := func(ctx context.Context, stream *breezeway.Stream) {
			if err := tell(ctx, stream.StreamOpener(), "of a stream"); err != nil {
				t.Error(err)
			}
		}
		session := dial(t, goServer(t, carrier, calls, streams))
		ctx := within(t, time.Minute)
		if _, err := session.Call(ctx, 0, nil); err != nil {
			t.Fatal(err)
		}
		told(t, session, "of a call")
		stream, err := session.Open(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		told(t, session, "of a stream")
		_ = stream.Close()
		opener, sent := <-openers, make(chan error, 1)
		go func() { sent <- tell(ctx, opener, "behind the call") }()
		told(t, session, "behind the call")
		if err := <-sent; err != nil {
			t.Error(err)
		}
		_ = session.Close()
		for err == nil {
			_, err = opener.Open(ctx, 7)
		}
		if !errors.Is(err, breezeway.ErrPeerClosed) && !errors.Is(err, breezeway.ErrPeerDied) {
			t.Errorf("a stream to a client that is gone: %v", err)
		}
	})
}
