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
		server := &breezeway.Server{Handler: func(call *breezeway.Call) error {
			close(begun)
			<-over
			return call.Reply(nil)
		}}
		address := addressOf(t, carrier)
		listener, err := server.ListenNet(address, append(certified, breezeway.Offload(4))...)
		if err != nil {
			t.Fatal(err)
		}
		address = listener.Addr().String()
		c, err := breezeway.Dial(context.Background(), address, certified...)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
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
