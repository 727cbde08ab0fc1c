// Package breezewayetcd finds instances of Breezeway services by etcd, with the same records as the
// crate breezeway-etcd, so that servers and clients in Go and in Rust find each other.
//
// A server registers its instance under a lease: its addresses, its weight, its host and the folder
// of its sockets. A client watches, so that instances on its own host are reached over shared
// memory and others over TCP, as they come and go. An instance is gone once it deregisters, or once
// its lease ends after it was killed.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://10.0.0.5:2379"}})
//	registry := breezewayetcd.New(client)
//	// A server, once it listens:
//	instance, err := instances.Here("users-1", "shm:/run/users.sock,tcp:10.0.0.7:7000")
//	registration, err := registry.Register(ctx, "users", instance)
//	// A Kitex client, by breezewaykitex:
//	users, err := user.NewClient("users", breezewaykitex.ClientOf(registry))
//	// The server, before it stops:
//	err = registration.Deregister(ctx)
//
// Calls continue while etcd does not answer: clients keep the last set, and servers register again
// when etcd is back.
package breezewayetcd

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/instances"
)

// A Registry is a registry of instances in etcd. It is an instances.Resolver. The fields may be
// changed before its first use.
type Registry struct {
	// Prefix begins all keys; "breezeway/" by default.
	Prefix string
	// LeaseSeconds is the time for which an instance that no longer renews its lease stays
	// registered; 10 by default. etcd has a minimum of its own, two seconds by default.
	LeaseSeconds int64
	// Log receives warnings about invalid records and missing answers of etcd.
	Log *slog.Logger

	client *clientv3.Client

	mu       sync.Mutex
	watching map[string]*watching // by service
	closed   bool
}

// New returns the registry that the servers of this client keep. They need not answer yet. The
// client should set DialKeepAliveTime, as it may otherwise never notice that etcd is gone.
func New(client *clientv3.Client) *Registry {
	return &Registry{Prefix: "breezeway/", LeaseSeconds: 10, Log: slog.Default(), client: client,
		watching: map[string]*watching{}}
}

// Close ends all watches. Registrations and the client are not affected.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for _, w := range r.watching {
		w.end()
	}
	return nil
}

func (r *Registry) folder(service string) string { return r.Prefix + service + "/" }

// checkName refuses a name whose key would lie in another folder.
func checkName(name string) error {
	if name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("breezeway: %q does not name a service or an instance: a name is not "+
			"empty and has no '/'", name)
	}
	return nil
}

// checkAddresses refuses an address by which a client would call itself, or no server.
func checkAddresses(instance instances.Instance) error {
	for _, a := range instance.Addresses {
		isRemote := a.Carrier == breezeway.TCP || a.Carrier == breezeway.TLS
		if isRemote && (a.Port() == "0" || a.Port() == "" || isNoHost(a.Host())) {
			return fmt.Errorf("breezeway: %v names no host and port that others can call: "+
				"register the address that they reach", a)
		}
	}
	return nil
}

// isNoHost returns true if the host stands for all addresses of its reader, in any notation:
// resolvers also take 0 and 0x0.0 for 0.0.0.0 (inet_aton(3)).
func isNoHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsUnspecified()
	}
	for _, part := range strings.Split(strings.ToLower(host), ".") {
		digits := strings.TrimPrefix(part, "0x")
		if strings.Trim(digits, "0") != "" || digits == "" && host != "" {
			return false
		}
	}
	return true
}
