package breezeway

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// manyCall makes as many concurrent calls as it takes for callers to yield before they sleep.
func manyCall(t *testing.T, client *Client) (ended chan error, cancel context.CancelFunc) {
	t.Helper()
	conn, err := client.Session(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(contextOf(t))
	ended = make(chan error, waitAtOnce)
	for range waitAtOnce {
		go func() {
			_, err := client.Call(ctx, 0, []byte("once"))
			ended <- err
		}()
	}
	until(t, conn.session, "all calls are in flight",
		func() bool { return conn.session.rules.Calls.InFlight() == waitAtOnce })
	return ended, cancel
}

func TestManyCallsThatEndWithTheirContextMayHaveRun(t *testing.T) {
	may := make(chan struct{})
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), func(_ context.Context,
		call *Call) error {
		<-may
		return call.Echo()
	})
	t.Cleanup(func() { close(may) })
	client := NewClient(address)
	defer client.Close()
	ended, cancel := manyCall(t, client)
	cancel()
	for range waitAtOnce {
		err := soon(t, "the end of a call", ended)
		if !errors.Is(err, context.Canceled) || !MayHaveRun(err) {
			t.Fatalf("%v, which may have run: %v", err, MayHaveRun(err))
		}
	}
}

func TestManyCallsThatHaveRunAreNotMadeAgainOnTheNextSession(t *testing.T) {
	var runs atomic.Int64
	may := make(chan struct{})
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error {
			runs.Add(1)
			<-may
			return call.Echo()
		}, WithOffload(2*waitAtOnce))
	client := NewClient(address)
	defer client.Close()
	ended, cancel := manyCall(t, client)
	defer cancel()
	session := sessionOf(t, server)
	until(t, session, "all calls run", func() bool { return runs.Load() == waitAtOnce })
	session.mu.Lock()
	session.finish(ErrClosed)
	session.mu.Unlock()
	close(may)
	for range waitAtOnce {
		err := soon(t, "the end of a call", ended)
		if !errors.Is(err, ErrPeerDied) || !MayHaveRun(err) {
			t.Fatalf("%v, which may have run: %v", err, MayHaveRun(err))
		}
	}
	if count := runs.Load(); count != waitAtOnce {
		t.Fatalf("%d calls ran %d times", waitAtOnce, count)
	}
}
