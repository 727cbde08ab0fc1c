package kitex_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/client/callopt"
	"github.com/cloudwego/kitex/pkg/connpool"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	breezeway "github.com/breezeway-ipc/breezeway/go"
	breezekitex "github.com/breezeway-ipc/breezeway/go/kitex"
	"github.com/breezeway-ipc/breezeway/go/kitex/kitex_gen/echo/echo"
)

// mirror is the service of idl/echo.thrift.
type mirror struct {
	waits chan struct{} // nil if nobody asks
	over  chan struct{}
}

func (*mirror) Bounce(_ context.Context, bytes []byte) ([]byte, error) { return bytes, nil }

func (m *mirror) Wait(ctx context.Context) error {
	if m.waits != nil {
		m.waits <- struct{}{}
	}
	select {
	case <-m.over:
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	return nil
}

func init() { klog.SetLevel(klog.LevelFatal) }

// serve serves, and gives a client.
func serve(t testing.TB, address string, more ...client.Option) echo.Client {
	service := &mirror{over: make(chan struct{})}
	listening, stop := run(t, service, address)
	t.Cleanup(func() {
		close(service.over)
		stop()
	})
	return clientOf(t, listening, more...)
}

// run runs a server, and gives where it listens.
func run(t testing.TB, service *mirror, address string, opts ...breezeway.Option) (string, func()) {
	listener, err := breezekitex.Listen(address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	s := echo.NewServer(service, append(breezekitex.WithListener(listener),
		server.WithMetaHandler(transmeta.ServerTTHeaderHandler),
		server.WithExitWaitTime(time.Second))...)
	served := make(chan error, 1)
	go func() { served <- s.Run() }()
	return listener.Addr().String(), func() {
		_ = s.Stop()
		<-served
	}
}

func clientOf(t testing.TB, address string, more ...client.Option) echo.Client {
	options := append(breezekitex.WithDialer(address),
		client.WithTransportProtocol(transport.TTHeaderFramed),
		client.WithMetaHandler(transmeta.ClientTTHeaderHandler),
		client.WithConnectTimeout(10*time.Second))
	c, err := echo.NewClient("Echo", append(options, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func onEveryCarrier(t *testing.T, test func(t *testing.T, address string)) {
	folder := t.TempDir()
	for _, address := range []string{"shm:" + filepath.Join(folder, "shm"),
		"unix:" + filepath.Join(folder, "unix"), "tcp:127.0.0.1:0"} {
		t.Run(address[:3], func(t *testing.T) { test(t, address) })
	}
}

func bounced(c echo.Client, size int) error {
	sent := bytes.Repeat([]byte{byte(size)}, size)
	back, err := c.Bounce(context.Background(), sent)
	if err == nil && !bytes.Equal(back, sent) {
		err = fmt.Errorf("%d bytes came back otherwise", size)
	}
	return err
}

func TestKitexRunsOverEveryCarrier(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string) {
		c := serve(t, address)
		for _, size := range []int{0, 1, 104, 105, 65_536, 1 << 20, 5 << 20, 64} {
			if err := bounced(c, size); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
		}
		var all sync.WaitGroup
		for g := range 500 {
			all.Add(1)
			go func() {
				defer all.Done()
				if err := bounced(c, 10*g); err != nil {
					t.Errorf("call %d: %v", g, err)
				}
			}()
		}
		all.Wait()
	})
}

func TestACallOfKitexEndsWithItsTimeAndTheNextOneGoesOn(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string) {
		c := serve(t, address)
		err := c.Wait(context.Background(), callopt.WithRPCTimeout(50*time.Millisecond))
		if !errors.Is(err, kerrors.ErrRPCTimeout) {
			t.Fatalf("a call past its time ended with %v", err)
		}
		if err := bounced(c, 100); err != nil {
			t.Fatal(err)
		}
	})
}

func TestACallTooManyFailsAloneAndTheOtherGoesOn(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string) {
		service := &mirror{waits: make(chan struct{}, 1), over: make(chan struct{})}
		address, stop := run(t, service, address, breezeway.MaxStreams(1))
		defer stop()
		first := make(chan error, 1)
		c := clientOf(t, address)
		go func() { first <- c.Wait(context.Background()) }()
		<-service.waits
		_, err := c.Bounce(context.Background(), nil,
			callopt.WithConnectTimeout(20*time.Millisecond))
		if err == nil {
			t.Fatal("a call past what the server takes was served")
		}
		close(service.over)
		if err := <-first; err != nil {
			t.Fatalf("the call that was under way: %v", err)
		}
	})
}

func TestConnectionsOfASessionThatIsOverAreNotUsedAgain(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string) {
		address, stop := run(t, &mirror{}, address)
		c := clientOf(t, address, client.WithLongConnection(connpool.IdleConfig{
			MaxIdlePerAddress: 10, MaxIdleGlobal: 10, MaxIdleTimeout: time.Minute}))
		for range 3 {
			if err := bounced(c, 100); err != nil {
				t.Fatal(err)
			}
			stop()
			_, stop = run(t, &mirror{}, address)
		}
		defer stop()
		if err := bounced(c, 100); err != nil {
			t.Fatal(err)
		}
	})
}
