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
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	breezekitex "github.com/breezeway-ipc/breezeway/go/kitex"
	"github.com/breezeway-ipc/breezeway/go/kitex/kitex_gen/echo/echo"
)

// mirror is the service of idl/echo.thrift.
type mirror struct{ over chan struct{} }

func (*mirror) Bounce(_ context.Context, bytes []byte) ([]byte, error) { return bytes, nil }

func (m *mirror) Wait(ctx context.Context) error {
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
	listener, err := breezekitex.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	s := echo.NewServer(&mirror{over}, append(breezekitex.WithListener(listener),
		server.WithMetaHandler(transmeta.ServerTTHeaderHandler),
		server.WithExitWaitTime(time.Second))...)
	served := make(chan error, 1)
	go func() { served <- s.Run() }()
	t.Cleanup(func() {
		close(over)
		_ = s.Stop()
		<-served
	})
	options := append(breezekitex.WithDialer(listener.Addr().String()),
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
