package breezeway

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
)

func TestOffloadedHandlersThatExitLeaveNothing(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		const places = 4
		done := make(chan struct{}, 1)
		server, address := quietServer(t, address, func(_ context.Context, call *Call) error {
			switch call.Method() {
			case 1:
				runtime.Goexit()
			case 2:
				done <- struct{}{}
			}
			return call.Reply(nil)
		}, WithOffload(places))
		conn := dialled(t, address)
		for range 3 * places {
			var failed *CallError
			if _, err := conn.Call(contextOf(t), 1, nil); !errors.As(err, &failed) ||
				failed.Code != CodeFailed {
				t.Fatalf("a call whose handler exits gives %v", err)
			}
			if err := conn.Post(contextOf(t), 1, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.Post(contextOf(t), 2, nil); err != nil {
			t.Fatal(err)
		}
		soon(t, "the handler of a post", done)
		_ = conn.Close()
		over := make(chan error, 1)
		go func() { over <- server.Shutdown(context.Background()) }()
		if err := soon(t, "the end of the shutdown", over); err != nil {
			t.Error(err)
		}
	})
}

func TestHandlerThatExitsEndsItsSessionWithoutOffload(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		ended := make(chan error, 1)
		server, address := quietServer(t, address, func(context.Context, *Call) error {
			runtime.Goexit()
			return nil
		}, WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
		conn := dialled(t, address)
		if _, err := conn.Call(contextOf(t), 0, nil); err == nil {
			t.Error("the call succeeds")
		}
		if err := soon(t, "the session's end", ended); !errors.Is(err, errHandlerExited) {
			t.Errorf("the session ends with %v", err)
		}
		if err := server.Shutdown(contextOf(t)); err != nil {
			t.Error(err)
		}
	})
}

func TestStreamHandlerThatExitsFailsItsStreamAlone(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		serveQuietly(t, &Server{streams: func(_ context.Context, stream *Stream) {
			if stream.Method() == 1 {
				runtime.Goexit()
			}
			_ = stream.CloseSend()
		}}, address)
		conn := dialled(t, address)
		stream, err := conn.Open(contextOf(t), 1)
		if err == nil {
			_, err = stream.Recv(contextOf(t))
		}
		if code, isReset := IsReset(err); !isReset || code != CodeFailed {
			t.Errorf("the stream ends with %v", err)
		}
		stream, err = conn.Open(contextOf(t), 2)
		if err == nil {
			_, err = stream.Recv(contextOf(t))
		}
		if err != io.EOF {
			t.Errorf("the next stream ends with %v", err)
		}
	})
}
