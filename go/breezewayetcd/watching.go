package breezewayetcd

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/breezeway-ipc/breezeway/go/instances"
)

const (
	// listing is the time limit of etcd's list of the instances.
	listing = 5 * time.Second
	// pause is the time between tries while etcd is away.
	pause = 200 * time.Millisecond
)

// watching is a client's view of the instances of a service.
type watching struct {
	registry *Registry
	folder   string
	stop     context.CancelFunc
	ended    chan struct{}
	// first is closed once etcd has listed the instances.
	first chan struct{}

	// known holds them by name; it belongs to the goroutine of follow.
	known map[string]instances.Instance

	mu  sync.Mutex
	set []instances.Instance
}

// Resolve returns the instances of a service, also none. The first Resolve of a service begins to
// watch it, and waits until etcd has listed its instances. While etcd is away, the last set stays.
// An invalid record is left out, with a warning.
func (r *Registry) Resolve(ctx context.Context, service string) ([]instances.Instance, error) {
	if err := checkName(service); err != nil {
		return nil, err
	}
	w := r.watch(service)
	if w == nil {
		return nil, net.ErrClosed
	}
	select {
	case <-w.first:
	case <-w.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set, nil
}

// watch returns the watch of a service, or nil if the registry is closed.
func (r *Registry) watch(service string) *watching {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	w := r.watching[service]
	if w == nil {
		ctx, stop := context.WithCancel(r.client.Ctx())
		w = &watching{registry: r, folder: r.folder(service), stop: stop,
			ended: make(chan struct{}), first: make(chan struct{})}
		r.watching[service] = w
		go w.run(clientv3.WithRequireLeader(ctx))
	}
	return w
}

func (w *watching) end() {
	w.stop()
	<-w.ended
}

func (w *watching) run(ctx context.Context) {
	defer close(w.ended)
	for ctx.Err() == nil {
		if err := w.follow(ctx); err != nil && ctx.Err() == nil {
			w.registry.Log.Debug("breezeway: watched again", "folder", w.folder, "error", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// follow lists the instances, and follows the changes from that state on, until etcd goes away or
// no longer has so old a state.
func (w *watching) follow(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, listing)
	defer cancel()
	listed, err := w.registry.client.Get(within, w.folder, clientv3.WithPrefix())
	if err != nil {
		return err
	}
	w.known = map[string]instances.Instance{}
	for _, pair := range listed.Kvs {
		w.put(pair)
	}
	w.publish()
	watched, stop := context.WithCancel(ctx)
	defer stop()
	changes := w.registry.client.Watch(watched, w.folder, clientv3.WithPrefix(),
		clientv3.WithRev(listed.Header.Revision+1))
	for change := range changes {
		if err := change.Err(); err != nil {
			return err
		}
		for _, event := range change.Events {
			if event.Type == mvccpb.DELETE {
				delete(w.known, w.name(event.Kv))
			} else {
				w.put(event.Kv)
			}
		}
		w.publish()
	}
	return nil
}

func (w *watching) name(pair *mvccpb.KeyValue) string {
	return strings.TrimPrefix(string(pair.Key), w.folder)
}

func (w *watching) put(pair *mvccpb.KeyValue) {
	name := w.name(pair)
	instance, err := instances.Parse(name, pair.Value)
	if err != nil {
		w.registry.Log.Warn("breezeway: an instance's record is invalid", "folder", w.folder,
			"name", name, "error", err)
		delete(w.known, name)
		return
	}
	w.known[name] = instance
}

func (w *watching) publish() {
	set := make([]instances.Instance, 0, len(w.known))
	for _, instance := range w.known {
		set = append(set, instance)
	}
	slices.SortFunc(set, func(a, b instances.Instance) int {
		return strings.Compare(a.Name, b.Name)
	})
	w.mu.Lock()
	w.set = set
	w.mu.Unlock()
	select {
	case <-w.first:
	default:
		close(w.first)
	}
}

var _ instances.Resolver = (*Registry)(nil)
