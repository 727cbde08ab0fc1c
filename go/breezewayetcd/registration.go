package breezewayetcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/breezeway-ipc/breezeway/go/instances"
)

// A Registration is an instance that stays registered until [Registration.Deregister]. After the
// process was killed or the client of etcd was closed, its lease ends after its time.
//
// When etcd was away, the instance is registered again a third of the lease's time after etcd is
// back, also if etcd has lost everything; two thirds, if an attempt hangs in between.
type Registration struct {
	registry   *Registry
	key, value string
	seconds    int64
	stop       context.CancelFunc
	ended      chan struct{}

	// kept is the lease that is renewed, whose key was written. granted is the lease that etcd gave
	// last, whose key may have been written or not. Both belong to the goroutine of keep.
	kept, granted clientv3.LeaseID
}

// Register registers an instance of a service, and renews its lease. The name of the instance
// distinguishes it from others of the service: one that registers under the same name replaces it.
//
// The addresses have to be those that others reach: one without a host or a port, as 0.0.0.0 and
// port 0 are, is refused. 127.0.0.1 is not, as all clients may be on this host.
func (r *Registry) Register(ctx context.Context, service string, instance instances.Instance) (
	*Registration, error) {
	if err := errors.Join(checkName(service), checkName(instance.Name),
		checkAddresses(instance)); err != nil {
		return nil, err
	}
	n := &Registration{registry: r, key: r.folder(service) + instance.Name,
		value: string(instance.Record()), seconds: max(r.LeaseSeconds, 1),
		ended: make(chan struct{})}
	if err := n.put(ctx); err != nil {
		// The key may be there all the same, and ctx over.
		forgetting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return nil, errors.Join(err, n.forget(forgetting))
	}
	renewing, stop := context.WithCancel(r.client.Ctx())
	n.stop = stop
	go n.keep(renewing)
	return n, nil
}

// Deregister ends the lease, and with it the registration: clients make no further calls here once
// they learn of it. Stop the server after that.
func (n *Registration) Deregister(ctx context.Context) error {
	n.stop() // Otherwise it might register again.
	select {
	case <-n.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	// The key stays, as it may be that of another instance of this name by now.
	err := n.revoke(ctx, n.kept)
	return errors.Join(err, n.forget(ctx))
}

// forget ends the lease that is not known to have its key. From then on etcd refuses to write that,
// also if it has the request already and is late.
func (n *Registration) forget(ctx context.Context) error {
	if n.granted == n.kept {
		return nil
	}
	return n.revoke(ctx, n.granted)
}

// revoke ends a lease, unless it has expired.
func (n *Registration) revoke(ctx context.Context, lease clientv3.LeaseID) error {
	_, err := n.registry.client.Revoke(ctx, lease)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}

// put writes the record under a new lease. A write before it that was not answered could come after
// it, and leave the key to a lease that is not renewed: that lease ends first.
func (n *Registration) put(ctx context.Context) error {
	if err := n.forget(ctx); err != nil {
		return err
	}
	granted, err := n.registry.client.Grant(ctx, n.seconds)
	if err != nil {
		return err
	}
	n.granted = granted.ID
	_, err = n.registry.client.Put(ctx, n.key, n.value, clientv3.WithLease(granted.ID))
	if err == nil {
		n.kept = granted.ID // A lease whose key was not written is not to be renewed.
	}
	return err
}

// keep renews the lease three times within its time, and registers again once it has ended. Each
// attempt has a third of the time, so that one may fail in any way and the next is still in time.
func (n *Registration) keep(ctx context.Context) {
	defer close(n.ended)
	third := time.Duration(n.seconds) * time.Second / 3
	for {
		select {
		case <-time.After(third):
		case <-ctx.Done():
			return
		}
		if err := n.renew(ctx, third); err != nil && ctx.Err() == nil {
			n.registry.Log.Warn("breezeway: the lease of an instance was not renewed", "key", n.key,
				"error", err)
		}
	}
}

func (n *Registration) renew(ctx context.Context, limit time.Duration) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := n.registry.client.KeepAliveOnce(within, n.kept)
	if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return err
	}
	again, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return n.put(again)
}
