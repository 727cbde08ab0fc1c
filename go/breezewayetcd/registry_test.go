package breezewayetcd_test

import (
	"context"
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/instances"
)

// shortest is the shortest lease that etcd grants, in seconds.
const shortest = 2

func instanceOf(t *testing.T, name, addresses string) instances.Instance {
	t.Helper()
	instance, err := instances.New(name, addresses)
	if err != nil {
		t.Fatal(err)
	}
	return instance
}

func TestRegisteredInstancesArriveWithAllFields(t *testing.T) {
	registry := startEtcd(t).registry()
	folder := t.TempDir()
	whole, err := instances.Here("one", "shm:"+folder+"/a,unix:"+folder+"/b,tcp:10.0.0.1:7")
	if err != nil {
		t.Fatal(err)
	}
	whole.Weight = 7
	framed, bare := instanceOf(t, "three", "tcp:10.0.0.3:7"), instanceOf(t, "two", "tcp:10.0.0.2:7")
	framed.Framing = "framed"
	for _, instance := range []instances.Instance{whole, bare, framed} {
		if _, err := registry.Register(within(t), "echo", instance); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := registry.Register(within(t), "echo-more", bare); err != nil {
		t.Fatal(err)
	}
	registered(t, registry, "one", "three", "two")
	set, err := registry.Resolve(within(t), "echo")
	if err != nil || !reflect.DeepEqual(set, []instances.Instance{whole, framed, bare}) {
		t.Error(set, err)
	}
}

func TestServiceWithoutInstancesIsAnEmptySet(t *testing.T) {
	set, err := startEtcd(t).registry().Resolve(within(t), "echo")
	if err != nil || len(set) != 0 {
		t.Error(set, err)
	}
}

func TestInvalidRecordIsLeftOutUntilItIsValid(t *testing.T) {
	server := startEtcd(t)
	registry, client := server.registry(), server.client()
	defer client.Close()
	put := func(record string) {
		if _, err := client.Put(within(t), "breezeway/echo/odd", record); err != nil {
			t.Fatal(err)
		}
	}
	put("tcp:10.0.0.1:7")
	good := instanceOf(t, "good", "tcp:a:7")
	if _, err := registry.Register(within(t), "echo", good); err != nil {
		t.Fatal(err)
	}
	registered(t, registry, "good")
	put(`{"address":"tcp:10.0.0.1:7"}`)
	registered(t, registry, "good", "odd")
	put("{}")
	registered(t, registry, "good")
}

func TestDeregisteredInstanceIsGone(t *testing.T) {
	server := startEtcd(t)
	registry, client := server.registry(), server.client()
	defer client.Close()
	registration, err := registry.Register(within(t), "echo", instanceOf(t, "one", "tcp:a:7"))
	if err != nil {
		t.Fatal(err)
	}
	registered(t, registry, "one")
	if err := registration.Deregister(within(t)); err != nil {
		t.Fatal(err)
	}
	registered(t, registry)
	leases, err := client.Leases(within(t))
	if err != nil || len(leases.Leases) != 0 {
		t.Error(leases, err)
	}
}

func TestRegistrationWhoseLeaseHasEndedIsDeregistered(t *testing.T) {
	server := startEtcd(t)
	registry, client := server.registry(), server.client()
	defer client.Close()
	registry.LeaseSeconds = 300
	registration, err := registry.Register(within(t), "echo", instanceOf(t, "one", "tcp:a:7"))
	if err != nil {
		t.Fatal(err)
	}
	leases, err := client.Leases(within(t))
	if err != nil || len(leases.Leases) != 1 {
		t.Fatal(leases, err)
	}
	if _, err := client.Revoke(within(t), leases.Leases[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := registration.Deregister(within(t)); err != nil {
		t.Error(err)
	}
}

func TestRegistrationsAreThereAgainAfterEtcd(t *testing.T) {
	for name, losesAll := range map[string]bool{"with its data": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			server := startEtcd(t)
			registry := server.registry()
			registry.LeaseSeconds = shortest
			registration, err := registry.Register(within(t), "echo",
				instanceOf(t, "one", "tcp:a:7"))
			if err != nil {
				t.Fatal(err)
			}
			registered(t, registry, "one")
			server.kill()
			time.Sleep(2 * shortest * time.Second) // The outage must be longer than the lease.
			registered(t, registry, "one")         // The last set stays.
			if losesAll {
				server.loseAll()
			}
			if !server.start() {
				t.Fatal("etcd does not start again")
			}
			registered(t, server.registry(), "one")
			time.Sleep(2 * shortest * time.Second) // Its lease is one that is kept.
			registered(t, server.registry(), "one")
			if err := registration.Deregister(within(t)); err != nil {
				t.Fatal(err)
			}
			registered(t, registry) // The watch from before the outage continues.
		})
	}
}

func TestUnreachableInstanceIsNotRegistered(t *testing.T) {
	registry := startEtcd(t).registry()
	for _, address := range []string{"tcp:0.0.0.0:7", "tcp:[::]:7", "tcp:0:7", "tcp:0x0:7",
		"tcp:00.0:7", "tcp:[::ffff:0.0.0.0]:7", "tcp::7", "tls:0.0.0.0:7", "tcp:10.0.0.7:0",
		"shm:/run/a,tcp:0.0.0.0:7"} {
		_, err := registry.Register(within(t), "echo", instanceOf(t, "one", address))
		if err == nil || !strings.Contains(err.Error(), "names no host and port") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for service, name := range map[string]string{"echo": "a/b", "echo/more": "one", "": "one"} {
		_, err := registry.Register(within(t), service, instanceOf(t, name, "tcp:10.0.0.7:1"))
		if err == nil || !strings.Contains(err.Error(), "does not name") {
			t.Errorf("%q, %q: %v", service, name, err)
		}
	}
	registered(t, registry)
	for _, address := range []string{"tcp:0.example:7", "tcp:127.0.0.1:7", "unix:/run/a"} {
		_, err := registry.Register(within(t), "echo", instanceOf(t, "one", address))
		if err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestResolveWithoutEtcdEndsWithItsContextAndWithTheRegistry(t *testing.T) {
	server := startEtcd(t)
	registry := server.registry()
	server.kill()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := registry.Resolve(ctx, "echo"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := registry.Resolve(context.Background(), "echo")
		waiting <- err
	}()
	_ = registry.Close()
	if err := <-waiting; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := registry.Resolve(context.Background(), "other"); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := registry.Register(short, "echo", instanceOf(t, "one", "tcp:a:7")); err == nil {
		t.Error("a registration without etcd succeeds")
	}
}
