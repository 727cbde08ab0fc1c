package breezewaykitex

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/discovery"
	"github.com/cloudwego/kitex/pkg/loadbalance"
	"github.com/cloudwego/kitex/pkg/loadbalance/lbcache"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/rpcinfo/remoteinfo"

	"github.com/breezeway-ipc/breezeway/go/instances"
)

// here is the tag of an instance that is reached by sockets of this host.
const here = "breezeway-here"

func isHere(i discovery.Instance) bool {
	_, is := i.Tag(here)
	return is
}

// resolvers counts the resolvers that were made.
var resolvers atomic.Uint64

// resolverOf returns Kitex's resolver of the instances that a client can call from here. It passes
// their addresses to keep.
func resolverOf(resolver instances.Resolver, keep func(addresses []string)) discovery.Resolver {
	// Kitex may share what it keeps of a resolver among the clients with one of the same name.
	name := fmt.Sprintf("%s %d", network, resolvers.Add(1))
	return &discovery.SynthesizedResolver{
		ResolveFunc: func(ctx context.Context, service string) (discovery.Result, error) {
			all, err := resolver.Resolve(ctx, service)
			if err != nil {
				return discovery.Result{}, err
			}
			reached := reachable(all)
			keep(addressesOf(reached))
			if isCall := rpcinfo.GetRPCInfo(ctx) != nil; isCall && len(reached) == 0 {
				return discovery.Result{}, fmt.Errorf("breezeway: none of the %d instances of %s "+
					"can be called from this host%s", len(all), service, remedyFor(all))
			}
			return discovery.Result{Cacheable: true, CacheKey: service, Instances: reached}, nil
		},
		NameFunc: func() string { return name },
		TargetFunc: func(_ context.Context, target rpcinfo.EndpointInfo) string {
			return target.ServiceName()
		},
	}
}

// remedyFor names the instances that have no way from here, and the remedy.
func remedyFor(all []instances.Instance) string {
	count := 0
	for _, instance := range all {
		if addresses, _ := instance.Way(); addresses == "" {
			count++
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("; with sockets only that are not known to be of this host: %d "+
		"(instances.Here makes one of this host)", count)
}

// reachable returns the instances that get calls from here, those on this host first.
func reachable(all []instances.Instance) []discovery.Instance {
	var onHost, others []discovery.Instance
	for _, instance := range all {
		addresses, isHere := instance.Way()
		weight := int(instance.Weight)
		switch {
		case addresses == "" || weight == 0 || instance.Framing != "":
		case isHere:
			tags := map[string]string{here: instance.Name}
			onHost = append(onHost, discovery.NewInstance(network, addresses, weight, tags))
		default:
			others = append(others, discovery.NewInstance(network, addresses, weight, nil))
		}
	}
	return append(onHost, others...)
}

func addressesOf(list []discovery.Instance) []string {
	addresses := make([]string, 0, len(list))
	for _, instance := range list {
		addresses = append(addresses, instance.Address().String())
	}
	return addresses
}

// preferThisHost puts hostFirst in front of a client's load balancer.
func preferThisHost(o *client.Options, keep func(addresses []string)) {
	if o.Balancer == nil {
		o.Balancer = loadbalance.NewWeightedBalancer()
	}
	o.Balancer = hostFirst{o.Balancer, keep}
	if o.BalancerCacheOpt == nil {
		o.BalancerCacheOpt = &lbcache.Options{RefreshInterval: time.Second}
	}
}

// hostFirst is a load balancer that has another one choose among the instances on this host, and
// among the others once those were tried.
type hostFirst struct {
	each loadbalance.Loadbalancer
	keep func(addresses []string)
}

// Name returns the name of the balancer that chooses.
func (b hostFirst) Name() string { return b.each.Name() }

// GetPicker returns a picker of these instances.
func (b hostFirst) GetPicker(all discovery.Result) loadbalance.Picker { return picker{b.each, all} }

// Rebalance passes a change of the instances to the balancer that chooses.
func (b hostFirst) Rebalance(change discovery.Change) {
	each, is := b.each.(loadbalance.Rebalancer)
	if !is {
		return
	}
	for _, onHost := range []bool{true, false} {
		each.Rebalance(discovery.Change{
			Result: group(change.Result, onHost), Added: only(change.Added, onHost),
			Updated: only(change.Updated, onHost), Removed: only(change.Removed, onHost)})
	}
}

// Delete passes the end of a set of instances to the balancer that chooses. The set of a client
// without calls ends too: the resolver is not asked again before its next call.
func (b hostFirst) Delete(change discovery.Change) {
	b.keep([]string{})
	each, is := b.each.(loadbalance.Rebalancer)
	if !is {
		return
	}
	for _, onHost := range []bool{true, false} {
		each.Delete(discovery.Change{Result: group(change.Result, onHost)})
	}
}

func only(list []discovery.Instance, onHost bool) []discovery.Instance {
	return slices.DeleteFunc(slices.Clone(list), func(i discovery.Instance) bool {
		return isHere(i) != onHost
	})
}

// group returns the instances on this host, which stand first, or the others.
func group(all discovery.Result, onHost bool) discovery.Result {
	others := slices.IndexFunc(all.Instances, func(i discovery.Instance) bool { return !isHere(i) })
	if others < 0 {
		others = len(all.Instances)
	}
	if onHost {
		all.CacheKey += ", on this host"
		all.Instances = all.Instances[:others]
	} else {
		all.Instances = all.Instances[others:]
	}
	return all
}

// picker picks the instance of one attempt of a call.
type picker struct {
	each loadbalance.Loadbalancer
	all  discovery.Result
}

// Next returns an instance that the call has not tried, or nil.
func (p picker) Next(ctx context.Context, request any) discovery.Instance {
	tried := triedBy(ctx)
	isTried := func(i discovery.Instance) bool {
		return slices.Contains(tried, i.Address().String())
	}
	for _, onHost := range []bool{true, false} {
		among := group(p.all, onHost)
		if len(among.Instances) == 0 {
			continue
		}
		each := p.each.GetPicker(among)
		next := each.Next(ctx, request)
		if reusable, is := each.(interface{ Recycle() }); is {
			reusable.Recycle()
		}
		if next != nil && !isTried(next) {
			return next
		}
		for _, other := range among.Instances {
			if next != nil && !isTried(other) {
				return other
			}
		}
	}
	return nil
}

// tries is the name under which a call keeps the addresses of the instances that it has tried.
const tries = "breezeway: tries"

// triedBy returns the addresses of the instances that a call has tried. Kitex asks for an instance
// before each attempt, so that the last one is not among those that were kept.
func triedBy(ctx context.Context) []string {
	info := rpcinfo.GetRPCInfo(ctx)
	last := remoteinfo.AsRemoteInfo(info.To()).GetInstance()
	if last == nil {
		return nil
	}
	tried, _ := info.Invocation().Extra(tries).([]string)
	tried = append(tried, last.Address().String())
	if setter, is := info.Invocation().(rpcinfo.InvocationSetter); is {
		setter.SetExtra(tries, tried)
	}
	return tried
}

var (
	_ loadbalance.Loadbalancer = hostFirst{}
	_ loadbalance.Rebalancer   = hostFirst{}
)
