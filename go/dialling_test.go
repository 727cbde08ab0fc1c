package breezeway

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// silent is an address at which somebody listens and says nothing.
func silent(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return "unix:" + path
}

func TestDialSaysThatItsContextIsDone(t *testing.T) {
	address := silent(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := Dial(ctx, address, HandshakeTimeout(time.Hour))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("past the deadline Dial gave %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = Dial(ctx, address, HandshakeTimeout(time.Hour))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, Dial gave %v", err)
	}
}
