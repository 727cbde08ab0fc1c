package breezeway

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

func TestEchoingAReleasedRequestFailsTheCallAndNotTheSession(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), func(_ context.Context,
		call *Call) error {
		call.Request().Release()
		return call.Echo()
	})
	conn, err := Dial(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 2 {
		var failure *CallError
		_, err := conn.Call(context.Background(), 0, make([]byte, 1000))
		if !errors.As(err, &failure) {
			t.Fatalf("the call ended with %v", err)
		}
	}
}

func TestAppendToLeavesWhatWasThereOfAMessageThatWasReleased(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), echoCall)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Call(contextOf(t), 0, make([]byte, 1000))
	if err != nil {
		t.Fatal(err)
	}
	reply.Release()
	if to, err := reply.AppendTo([]byte("before")); string(to) != "before" ||
		!errors.Is(err, ErrReleased) {
		t.Errorf("%q, %v", to, err)
	}
}
