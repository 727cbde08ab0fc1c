package breezewaykitex_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/endpoint"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/loadbalance"
	"github.com/cloudwego/kitex/pkg/loadbalance/lbcache"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo/echo"
	"github.com/breezeway-ipc/breezeway/go/instances"
)

// registry is a resolver whose set a test changes.
type registry struct {
	set  atomic.Pointer[[]instances.Instance]
	asks atomic.Int64
}

func registryOf(set ...instances.Instance) *registry {
	r := new(registry)
	r.register(set...)
	return r
}

func (r *registry) register(set ...instances.Instance) { r.set.Store(&set) }

func (r *registry) Resolve(context.Context, string) ([]instances.Instance, error) {
	r.asks.Add(1)
	return *r.set.Load(), nil
}

// named answers each call with its name and the side of the host that the caller is on.
type named struct {
	mirror
	name string
}

func (n *named) Echo(ctx context.Context, _ []byte) ([]byte, error) {
	peer, _ := breezewaykitex.PeerOf(ctx)
	if !peer.Known {
		return []byte(n.name + " elsewhere"), nil
	}
	return []byte(n.name + " here"), nil
}

// startNamed starts a server in shared memory and at a port, and returns its instance on this host,
// the same on an unknown host, and what stops it.
func startNamed(t *testing.T, name string) (onHost, other instances.Instance, stop func()) {
	t.Helper()
	socket := "shm:" + t.TempDir() + "/" + name
	addresses := socket + "," + port("tcp:")
	service := &named{name: name}
	ended := start(t, socket, func(options ...server.Option) server.Server {
		options[0] = breezewaykitex.Server(addresses)
		return echo.NewServer(service, append(options, server.WithExitWaitTime(time.Minute))...)
	})
	onHost, err := instances.Here(name, addresses)
	if err == nil {
		other, err = instances.New(name, addresses)
	}
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		if err := ended(); err != nil {
			t.Errorf("the server stops with %v", err)
		}
	}
	return onHost, other, stop
}

func clientOfRegistry(t *testing.T, r instances.Resolver, more ...client.Option) echo.Client {
	t.Helper()
	soon := client.WithLoadBalancer(loadbalance.NewWeightedBalancer(),
		&lbcache.Options{RefreshInterval: 10 * time.Millisecond})
	c, err := echo.NewClient("echo",
		append([]client.Option{breezewaykitex.ClientOf(r), soon}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// asked returns the answer of a call, or its error.
func asked(c echo.Client) string {
	answer, err := c.Echo(within(10*time.Second), nil)
	if err != nil {
		return err.Error()
	}
	return string(answer)
}

func within(time time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// until calls until the answer is this one.
func until(t *testing.T, c echo.Client, answer string) {
	t.Helper()
	var last string
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); {
		if last = asked(c); last == answer {
			return
		}
	}
	t.Fatalf("no call is answered by %q; the last one by %q", answer, last)
}

// always makes some calls, and fails unless all answers are this one.
func always(t *testing.T, c echo.Client, answer string) {
	t.Helper()
	for range 50 {
		if got := asked(c); got != answer {
			t.Fatalf("answered by %q, not by %q", got, answer)
		}
	}
}

func TestInstanceOnThisHostIsCalledOverShmWhileItIsRegistered(t *testing.T) {
	one, _, stopOne := startNamed(t, "one")
	defer stopOne()
	_, two, stopTwo := startNamed(t, "two")
	defer stopTwo()
	r := registryOf(two)
	c := clientOfRegistry(t, r)
	always(t, c, "two elsewhere")
	r.register(two, one)
	until(t, c, "one here")
	always(t, c, "one here")
	r.register(two)
	until(t, c, "two elsewhere")
	always(t, c, "two elsewhere")
}

func TestClientsOfTwoRegistriesShareNoInstancesThatKitexCaches(t *testing.T) {
	_, one, stopOne := startNamed(t, "one")
	defer stopOne()
	_, two, stopTwo := startNamed(t, "two")
	defer stopTwo()
	cached := client.WithLoadBalancer(loadbalance.NewWeightedBalancer(),
		&lbcache.Options{RefreshInterval: 10 * time.Millisecond, Cacheable: true})
	first := clientOfRegistry(t, registryOf(one), cached)
	second := clientOfRegistry(t, registryOf(two), cached)
	always(t, first, "one elsewhere")
	always(t, second, "two elsewhere")
}

func TestDeadInstanceOnThisHostFailsNoCallWhileAnotherLives(t *testing.T) {
	one, _, stopOne := startNamed(t, "one")
	_, two, stopTwo := startNamed(t, "two")
	defer stopTwo()
	c := clientOfRegistry(t, registryOf(one, two))
	always(t, c, "one here")
	stopOne() // It stays registered, like one that was killed.
	always(t, c, "two elsewhere")
}

func TestEachInstanceOnThisHostGetsCallsByItsWeight(t *testing.T) {
	one, _, stopOne := startNamed(t, "one")
	defer stopOne()
	two, _, stopTwo := startNamed(t, "two")
	defer stopTwo()
	three, _, stopThree := startNamed(t, "three")
	defer stopThree()
	one.Weight, three.Weight = 3, 0
	c := clientOfRegistry(t, registryOf(one, two, three))
	counts := map[string]int{}
	for range 100 {
		counts[asked(c)]++
	}
	if counts["one here"] != 75 || counts["two here"] != 25 {
		t.Error(counts)
	}
}

func TestAllInstancesDeadIsTheErrorOfTheLastOne(t *testing.T) {
	one, _, stopOne := startNamed(t, "one")
	two, _, stopTwo := startNamed(t, "two")
	stopOne()
	stopTwo()
	c := clientOfRegistry(t, registryOf(one, two))
	_, err := c.Echo(within(10*time.Second), nil)
	if !errors.Is(err, kerrors.ErrNoMoreInstance) || !errors.Is(err, kerrors.ErrGetConnection) {
		t.Error(err)
	}
	if breezeway.MayHaveRun(err) {
		t.Error("a call that has reached no instance may have run: ", err)
	}
}

func TestNoInstanceThatCanBeCalledIsAnErrorUntilThereIsOne(t *testing.T) {
	one, _, stop := startNamed(t, "one")
	defer stop()
	socketsElsewhere, framed, unused := one, one, one
	socketsElsewhere.Locality, socketsElsewhere.Addresses = nil, one.Addresses[:1]
	framed.Framing, unused.Weight = "framed", 0
	r := registryOf()
	for _, set := range [][]instances.Instance{{}, {socketsElsewhere}, {framed}, {unused}} {
		r.register(set...)
		c := clientOfRegistry(t, r)
		_, err := c.Echo(within(10*time.Second), nil)
		reason := fmt.Sprintf("none of the %d instances of echo", len(set))
		if !errors.Is(err, kerrors.ErrServiceDiscovery) || !strings.Contains(err.Error(), reason) {
			t.Error(err)
		}
		hasSocketsElsewhere := len(set) > 0 && set[0].Locality == nil
		if hasSocketsElsewhere != strings.Contains(err.Error(), "instances.Here") {
			t.Error(err)
		}
		r.register(one)
		always(t, c, "one here")
	}
}

func TestSetThatBecomesEmptyFailsCallsUntilThereIsAnInstance(t *testing.T) {
	one, _, stop := startNamed(t, "one")
	defer stop()
	r := registryOf(one)
	c := clientOfRegistry(t, r)
	always(t, c, "one here")
	r.register()
	var err error
	for limit := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(limit); {
		_, err = c.Echo(within(10*time.Second), nil)
	}
	if !errors.Is(err, kerrors.ErrNoMoreInstance) {
		t.Fatal(err)
	}
	r.register(one)
	until(t, c, "one here")
}

// failing is a resolver that cannot resolve.
type failing struct{}

func (failing) Resolve(context.Context, string) ([]instances.Instance, error) {
	return nil, os.ErrDeadlineExceeded
}

func TestResolverThatFailsIsTheErrorOfTheCall(t *testing.T) {
	_, err := clientOfRegistry(t, failing{}).Echo(context.Background(), nil)
	if !errors.Is(err, kerrors.ErrServiceDiscovery) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func TestInstanceRefusedByCircuitBreakerIsPassedOver(t *testing.T) {
	one, _, stopOne := startNamed(t, "one")
	defer stopOne()
	_, two, stopTwo := startNamed(t, "two")
	defer stopTwo()
	breaker := func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request, response any) error {
			address := rpcinfo.GetRPCInfo(ctx).To().Address().String()
			if strings.HasPrefix(address, "shm:") {
				return kerrors.ErrCircuitBreak
			}
			return next(ctx, request, response)
		}
	}
	c := clientOfRegistry(t, registryOf(one, two), client.WithInstanceMW(breaker))
	always(t, c, "two elsewhere")
}

func TestSessionsOfInstancesThatWentAwayAreClosedBelowNoCall(t *testing.T) {
	service := &mirror{waits: make(chan struct{}, 1), over: make(chan struct{})}
	ended := make(chan struct{}, 1)
	socket := "shm:" + t.TempDir() + "/s"
	stop := run(t, service, socket,
		breezeway.WithOnSessionEnd(func(breezeway.Peer, error) { ended <- struct{}{} }))
	defer stop()
	one, err := instances.Here("one", socket)
	if err != nil {
		t.Fatal(err)
	}
	_, two, stopTwo := startNamed(t, "two")
	defer stopTwo()
	r := registryOf(one)
	c := clientOfRegistry(t, r)
	inFlight := make(chan error, 1)
	go func() { inFlight <- c.Wait(context.Background()) }()
	<-service.waits
	r.register(two)
	until(t, c, "two elsewhere")
	select {
	case <-ended:
		t.Error("the session was closed below a call")
	default:
	}
	close(service.over)
	if err := <-inFlight; err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the session of an instance that has gone away stays open")
	}
}

func TestSessionsOfAnIdleClientAreClosed(t *testing.T) {
	ended := make(chan struct{}, 1)
	socket := "shm:" + t.TempDir() + "/s"
	stop := run(t, new(mirror), socket,
		breezeway.WithOnSessionEnd(func(breezeway.Peer, error) { ended <- struct{}{} }))
	defer stop()
	one, err := instances.Here("one", socket)
	if err != nil {
		t.Fatal(err)
	}
	soon := client.WithLoadBalancer(loadbalance.NewWeightedBalancer(), &lbcache.Options{
		RefreshInterval: 10 * time.Millisecond, ExpireInterval: 20 * time.Millisecond})
	c, err := echo.NewClient("echo", breezewaykitex.ClientOf(registryOf(one)), soon)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // It is called again after that.
		if answer := asked(c); answer != "" {
			t.Fatal(answer)
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("the session of a client without calls stays open")
		}
	}
}
