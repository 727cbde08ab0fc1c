package breezeway

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

func TestUnderWayBoundsMessagesUntilReceiverKeepsThem(t *testing.T) {
	const bound, size = 64 << 10, 32 << 10
	over, taken := make(chan struct{}), make(chan struct{}, 100)
	server, err := Listen("shm:"+filepath.Join(t.TempDir(), "s"), func(_ context.Context,
		call *Call) error {
		<-over
		taken <- struct{}{}
		return call.Echo()
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()
	ctx := context.Background()
	conn, err := Dial(ctx, server.Addresses()[0].String(), withUnderWay(bound))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	post := func() {
		t.Helper()
		if err := conn.Post(ctx, 0, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	post()
	post()
	if p := conn.session.throttle; p != proto.NewThrottle(bound) {
		t.Errorf("within the bound it is %+v", p)
	}
	post()
	post()
	if p := conn.session.throttle; p.IsExceeded(3*size, size) {
		t.Errorf("of a server that takes nothing it is %+v", p)
	}
	close(over)
	for range 4 {
		<-taken
	}
	if _, err := conn.Call(ctx, 0, nil); err != nil { // It follows the release of all messages.
		t.Fatal(err)
	}
	<-taken
	conn.session.mu.Lock()
	conn.session.memory.end.Collect()
	conn.session.mu.Unlock()
	post()
	if p := conn.session.throttle; p != proto.NewThrottle(bound) {
		t.Errorf("once all has come back it is %+v", p)
	}
}
