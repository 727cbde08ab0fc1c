package breezeway_test

import (
	"context"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func TestListenerShutdownEndsBesideStuckHandler(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		begun, over := make(chan struct{}), make(chan struct{})
		stuck := func(_ context.Context, call *breezeway.Call) error {
			close(begun)
			<-over
			return call.Reply(nil)
		}
		listener, err := breezeway.ListenNet(addressOf(t, carrier), stuck,
			serves(breezeway.WithOffload(4))...)
		if err != nil {
			t.Fatal(err)
		}
		c := dial(t, listener.Addr().String())
		go c.Call(context.Background(), 0, nil)
		<-begun
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- listener.Shutdown(ctx) }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Error("Shutdown waits for the handler")
		}
		close(over)
	})
}
