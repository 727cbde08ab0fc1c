package kitex_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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
	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
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
func serve(t testing.TB, address string, ends certificates.Session) echo.Client {
	service := &mirror{over: make(chan struct{})}
	listening, stop := run(t, service, address, ends.Server...)
	t.Cleanup(func() {
		close(service.over)
		stop()
	})
	return clientOf(t, listening, ends)
}

// run runs a server, and gives where it listens, and what stops it.
func run(t testing.TB, service *mirror, address string, opts ...breezeway.Option) (string, func()) {
	address, stop := runFor(t, service, address, time.Minute, opts...)
	return address, func() {
		if err := stop(); err != nil {
			t.Errorf("the server stops with %v", err)
		}
	}
}

// runFor runs a server that takes so long to stop if calls are in flight.
func runFor(t testing.TB, service *mirror, address string, limit time.Duration,
	opts ...breezeway.Option) (string, func() error) {
	listener, err := breezekitex.Listen(address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{})
	s := echo.NewServer(service, append(breezekitex.WithListener(listener),
		server.WithMetaHandler(transmeta.ServerTTHeaderHandler),
		server.WithExitWaitTime(limit),
		server.WithExitSignal(func() <-chan error {
			close(running) // Stop before is not for Run to take.
			return nil
		}))...)
	served := make(chan error, 1)
	go func() { served <- s.Run() }()
	<-running
	return listener.Addr().String(), func() error {
		defer func() { <-served }()
		return s.Stop()
	}
}

// long has a client keep its connections.
var long = client.WithLongConnection(connpool.IdleConfig{MaxIdlePerAddress: 10, MaxIdleGlobal: 10,
	MaxIdleTimeout: time.Minute})

func clientOf(t testing.TB, address string, ends certificates.Session,
	more ...client.Option) echo.Client {
	options := append(breezekitex.WithDialer(address, ends.Client...),
		client.WithTransportProtocol(transport.TTHeaderFramed),
		client.WithMetaHandler(transmeta.ClientTTHeaderHandler),
		client.WithConnectTimeout(10*time.Second))
	c, err := echo.NewClient("Echo", append(options, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// thisHost is where nobody else listens, so that a port can be listened at again.
var thisHost = net.IPv4(127, byte(1+rand.Intn(250)), byte(rand.Intn(250)), byte(1+rand.Intn(250)))

// onEveryCarrier gives a test what its sessions show and trust over tls:, and ignore elsewhere.
func onEveryCarrier(t *testing.T,
	test func(t *testing.T, address string, ends certificates.Session)) {
	folder := t.TempDir()
	ends, err := certificates.Mutual(folder, thisHost)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"shm:" + filepath.Join(folder, "shm"),
		"unix:" + filepath.Join(folder, "unix"), "tcp:" + thisHost.String() + ":0",
		"tls:" + thisHost.String() + ":0"} {
		t.Run(address[:3], func(t *testing.T) { test(t, address, ends) })
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
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		c := serve(t, address, ends)
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
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		c := serve(t, address, ends)
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
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		service := &mirror{waits: make(chan struct{}, 1), over: make(chan struct{})}
		address, stop := run(t, service, address,
			append(ends.Server, breezeway.MaxStreams(1))...)
		defer stop()
		first := make(chan error, 1)
		c := clientOf(t, address, ends)
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
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		address, stop := run(t, &mirror{}, address, ends.Server...)
		c := clientOf(t, address, ends, long)
		for range 3 {
			if err := bounced(c, 100); err != nil {
				t.Fatal(err)
			}
			stop()
			_, stop = run(t, &mirror{}, address, ends.Server...)
		}
		defer stop()
		if err := bounced(c, 100); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAServerThatStopsServesWhatIsInFlightAndWaitsForNobodyElse(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		service := &mirror{waits: make(chan struct{}, 1), over: make(chan struct{})}
		address, stop := run(t, service, address, ends.Server...)
		c := clientOf(t, address, ends, long)
		if err := bounced(c, 100); err != nil { // Whose connection is kept, at rest.
			t.Fatal(err)
		}
		inFlight := make(chan error, 1)
		go func() { inFlight <- c.Wait(context.Background()) }()
		<-service.waits
		stopped := make(chan struct{})
		go func() {
			stop()
			close(stopped)
		}()
		for listens := true; listens; { // Until it has begun to stop.
			conn, err := breezeway.Dial(context.Background(), address, ends.Client...)
			if err == nil {
				_ = conn.Close()
			}
			listens = err == nil || errors.As(err, new(*breezeway.RefusedError))
		}
		_, stopNext := run(t, &mirror{over: service.over}, address, ends.Server...)
		defer stopNext()
		if err := bounced(c, 100); err != nil {
			t.Errorf("a call on the server that follows: %v", err)
		}
		select {
		case <-stopped:
			t.Error("the server has stopped before the call in flight was served")
		default:
		}
		close(service.over)
		if err := <-inFlight; err != nil {
			t.Errorf("the call in flight: %v", err)
		}
		<-stopped
		if err := bounced(c, 100); err != nil {
			t.Error(err)
		}
	})
}

func TestServersFollowEachOtherUnderLoadWithoutAFailedCall(t *testing.T) {
	const generations, callers, between = 5, 8, 200
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		address, stop := run(t, &mirror{}, address, ends.Server...)
		ends.Client = append(ends.Client, breezeway.WaitForServer(time.Minute))
		c := clientOf(t, address, ends, long)
		answered, over := make(chan error), make(chan struct{})
		var all sync.WaitGroup
		for i := range callers {
			all.Add(1)
			go func() {
				defer all.Done()
				for {
					err := bounced(c, 100*i)
					select {
					case answered <- err:
					case <-over:
						return
					}
				}
			}()
		}
		check := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		for range generations {
			for range between {
				check(<-answered)
			}
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				stop()
			}()
			for stopping := true; stopping; {
				select {
				case err := <-answered:
					check(err)
				case <-stopped:
					stopping = false
				}
			}
			address, stop = run(t, &mirror{}, address, ends.Server...)
		}
		for range between { // Which the last one has accepted.
			check(<-answered)
		}
		close(over)
		all.Wait()
		stop()
	})
}

func TestAServerThatStopsCutsWhatIsInFlightPastItsLimit(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		service := &mirror{waits: make(chan struct{}, 1), over: make(chan struct{})}
		address, stop := runFor(t, service, address, 200*time.Millisecond, ends.Server...)
		defer close(service.over)
		c := clientOf(t, address, ends)
		inFlight := make(chan error, 1)
		go func() { inFlight <- c.Wait(context.Background()) }()
		<-service.waits
		if err := stop(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the server stops with %v", err)
		}
		if err := <-inFlight; err == nil {
			t.Error("a call that was cut succeeds")
		}
	})
}

func TestAClosedDialerOfKitexConnectsNobody(t *testing.T) {
	address, stop := run(t, &mirror{}, "shm:"+filepath.Join(t.TempDir(), "s"))
	defer stop()
	dialer := breezekitex.NewDialer(address)
	c, err := echo.NewClient("Echo", client.WithSuite(dialer), long,
		client.WithTransportProtocol(transport.TTHeaderFramed))
	if err != nil {
		t.Fatal(err)
	}
	if err := bounced(c, 100); err != nil {
		t.Fatal(err)
	}
	_ = dialer.Close()
	if err := bounced(c, 100); err == nil {
		t.Fatal("a closed dialer connects")
	}
}

func TestACertificateThatIsRefusedFailsTheCallWithWhatIsWrong(t *testing.T) {
	refusals, err := certificates.Refusals(t.TempDir(), thisHost)
	if err != nil {
		t.Fatal(err)
	}
	for _, refusal := range refusals {
		t.Run(refusal.Name, func(t *testing.T) {
			c := serve(t, "tls:"+thisHost.String()+":0", refusal.Session)
			if err := bounced(c, 100); err == nil || !strings.Contains(err.Error(), refusal.Says) {
				t.Errorf("%v, which does not say %q", err, refusal.Says)
			}
		})
	}
}

// counting counts the connections that a client asks for.
type counting struct {
	*breezekitex.Dialer
	dials atomic.Int64
}

func (c *counting) DialTimeout(network, address string, t time.Duration) (net.Conn, error) {
	c.dials.Add(1)
	return c.Dialer.DialTimeout(network, address, t)
}

func TestAClientWithLongConnectionsUsesThemAgain(t *testing.T) {
	service := &mirror{over: make(chan struct{})}
	listening, stop := run(t, service, "shm:"+filepath.Join(t.TempDir(), "s"))
	t.Cleanup(stop)
	dialer := &counting{Dialer: breezekitex.NewDialer(listening)}
	t.Cleanup(func() { _ = dialer.Close() })
	c := clientOf(t, listening, certificates.Session{}, client.WithSuite(dialer),
		client.WithDialer(dialer), long)
	for range 100 {
		if _, err := c.Bounce(context.Background(), []byte("again")); err != nil {
			t.Fatal(err)
		}
	}
	if dials := dialer.dials.Load(); dials != 1 {
		t.Errorf("100 calls, one after the other, took %d connections", dials)
	}
}
