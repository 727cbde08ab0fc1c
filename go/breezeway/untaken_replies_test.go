package breezeway

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A socket accepts only a part of the reply at once.
func TestAReplyIsWrittenWholeBehindTheShutdownOfItsClient(t *testing.T) {
	ended := make(chan error, 1)
	_, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), echoCall,
		WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
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
	_, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), echoCall,
		WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
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

// Each of many replies would otherwise wait for a second.
func TestAClientThatTakesNoneOfManyRepliesHoldsNoSession(t *testing.T) {
	const calls = 20
	for name, offload := range map[string]int{"inline": 0, "offloaded": calls} {
		t.Run(name, func(t *testing.T) {
			path, ended := filepath.Join(t.TempDir(), "s"), make(chan error, 1)
			var served sync.WaitGroup
			served.Add(calls)
			quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
				defer served.Done()
				return call.Reply(make([]byte, twoFit))
			}, WithOffload(offload), WithReplyTimeout(time.Hour),
				WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
			client := newCaller(t, path)
			began := time.Now()
			asks(client, calls, shutsDown)
			if err := soon(t, "the session's end", ended); err != nil {
				t.Error(err)
			}
			if lasted := time.Since(began); lasted < linger/2 || lasted > 5*linger {
				t.Errorf("the session ended after %v", lasted)
			}
			served.Wait()
		})
	}
}
