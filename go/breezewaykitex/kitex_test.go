package breezewaykitex_test

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
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo/echo"
	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
)

// mirror is the service of idl/echo.thrift.
type mirror struct {
	waits chan struct{} // nil if nobody asks
	over  chan struct{}
}

func (*mirror) Echo(_ context.Context, body []byte) ([]byte, error) { return body, nil }

func (m *mirror) Wait(ctx context.Context) error {
	if m.waits != nil {
		m.waits <- struct{}{}
	}
	select {
	case <-m.over:
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	return ctx.Err()
}

func init() { klog.SetLevel(klog.LevelFatal) }

// serve serves, and returns a client.
func serve(t testing.TB, address string, ends certificates.Session) echo.Client {
	service := &mirror{over: make(chan struct{})}
	stop := run(t, service, address, ends.Server...)
	t.Cleanup(func() {
		close(service.over)
		stop()
	})
	return clientOf(t, address, ends)
}

// run runs a server, and returns what stops it.
func run(t testing.TB, service *mirror, address string, opts ...breezeway.ServerOption) func() {
	stop := runFor(t, service, address, time.Minute, opts...)
	return func() {
		if err := stop(); err != nil {
			t.Errorf("the server stops with %v", err)
		}
	}
}

// runFor runs a server that takes so long to stop if calls are in flight.
func runFor(t testing.TB, service *mirror, address string, limit time.Duration,
	opts ...breezeway.ServerOption) func() error {
	return start(t, address, func(more ...server.Option) server.Server {
		return echo.NewServer(service, append(more, server.WithExitWaitTime(limit))...)
	}, opts...)
}

// start starts a server, waits until it listens, and returns what stops it.
func start(t testing.TB, address string, make func(...server.Option) server.Server,
	opts ...breezeway.ServerOption) func() error {
	t.Helper()
	exit := func() <-chan error { return nil } // Signals are the test's.
	s := make(breezewaykitex.Server(address, opts...), server.WithExitSignal(exit))
	served := newChannel()
	go func() { served <- s.Run() }()
	listens(t, address, served)
	return func() error {
		err := s.Stop()
		<-served
		return err
	}
}

func newChannel() chan error { return make(chan error, 1) }

// listens waits until a connection to an address is accepted.
func listens(t testing.TB, address string, ended <-chan error) {
	t.Helper()
	network, place, _ := strings.Cut(address, ":")
	switch network {
	case "shm":
		network = "unix"
	case "tls":
		network = "tcp"
	}
	for {
		conn, err := net.Dial(network, place)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case err := <-ended:
			t.Fatalf("the server ends with %v", err)
		case <-time.After(time.Millisecond):
		}
	}
}

func clientOf(t testing.TB, address string, ends certificates.Session,
	more ...client.Option) echo.Client {
	c, err := echo.NewClient("Echo",
		append(more, breezewaykitex.Client(address, ends.Client...))...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// thisHost is an address without other listeners, so that a port can be listened at again.
var thisHost = net.IPv4(127, byte(1+rand.Intn(250)), byte(rand.Intn(250)), byte(1+rand.Intn(250)))

var ports atomic.Int32

// port returns an address that was not listened at before.
func port(carrier string) string { return fmt.Sprint(carrier, thisHost, ":", 20_000+ports.Add(1)) }

// onEveryCarrier gives a test what its sessions show and trust over tls:, and ignore elsewhere.
func onEveryCarrier(t *testing.T,
	test func(t *testing.T, address string, ends certificates.Session)) {
	folder := t.TempDir()
	ends, err := certificates.Mutual(folder, thisHost)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"shm:" + filepath.Join(folder, "shm"),
		"unix:" + filepath.Join(folder, "unix"), port("tcp:"), port("tls:")} {
		t.Run(address[:3], func(t *testing.T) { test(t, address, ends) })
	}
}

func bounced(c echo.Client, size int) error {
	sent := bytes.Repeat([]byte{byte(size)}, size)
	back, err := c.Echo(context.Background(), sent)
	if err == nil && !bytes.Equal(back, sent) {
		err = fmt.Errorf("%d bytes came back otherwise", size)
	}
	return err
}

func TestNativeCallsOnEveryCarrier(t *testing.T) {
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

func TestConnectionsOfASessionThatIsOverAreNotUsedAgain(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		stop := run(t, &mirror{}, address, ends.Server...)
		c := clientOf(t, address, ends)
		for range 3 {
			if err := bounced(c, 100); err != nil {
				t.Fatal(err)
			}
			stop()
			stop = run(t, &mirror{}, address, ends.Server...)
		}
		defer stop()
		if err := bounced(c, 100); err != nil {
			t.Fatal(err)
		}
	})
}

func TestStoppingServerServesCallsInFlightAlone(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, address string, ends certificates.Session) {
		service := &mirror{waits: make(chan struct{}, 1), over: make(chan struct{})}
		stop := run(t, service, address, ends.Server...)
		c := clientOf(t, address, ends)
		if err := bounced(c, 100); err != nil {
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
		stopNext := run(t, &mirror{over: service.over}, address, ends.Server...)
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
		stop := run(t, &mirror{}, address, ends.Server...)
		ends.Client = append(ends.Client, breezeway.WithWaitForServer(time.Minute))
		c := clientOf(t, address, ends)
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
			stop = run(t, &mirror{}, address, ends.Server...)
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
		stop := runFor(t, service, address, 200*time.Millisecond, ends.Server...)
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

func TestACertificateThatIsRefusedFailsTheCallWithWhatIsWrong(t *testing.T) {
	refusals, err := certificates.Refusals(t.TempDir(), thisHost)
	if err != nil {
		t.Fatal(err)
	}
	for _, refusal := range refusals {
		t.Run(refusal.Name, func(t *testing.T) {
			c := serve(t, port("tls:"), refusal.Session)
			if err := bounced(c, 100); err == nil || !strings.Contains(err.Error(), refusal.Says) {
				t.Errorf("%v, which does not say %q", err, refusal.Says)
			}
		})
	}
}
