package breezeway

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestASessionThatIsLeftEndsThoughCallsThatWereGivenUpAreNeverReplied(t *testing.T) {
	may, began := make(chan struct{}), make(chan struct{}, 1)
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(call *Call) error {
			began <- struct{}{}
			<-may
			return call.Echo()
		}, Offload(4))
	t.Cleanup(func() { close(may) })
	client := NewClient(address)
	defer client.Close()
	conn, err := client.Conn(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := client.Call(ctx, 0, nil)
		ended <- err
	}()
	soon(t, "the call", began)
	sessionOf(t, server).goAway()
	ctx2, cancel2 := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel2()
	_, _ = client.Call(ctx2, 0, nil) // It moves to another session.
	cancel()
	if err := soon(t, "the end of the call", ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	soon(t, "the session's end", conn.Done())
}
