// Package instances describes the servers of a service, as they register themselves: their
// addresses, their weight, and the host and folder of their sockets. A client on the same host
// reaches an instance over shared memory, any other client over TCP.
//
//	instance, err := instances.Here("users-1", "shm:/run/users.sock,tcp:10.0.0.7:7000")
//
// The record of an instance is that of breezeway-rpc in Rust (docs/instances.md), so that servers
// and clients of both languages find each other. The module breezewayetcd keeps records in etcd,
// and breezewaykitex calls instances.
package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// An Instance is a server of a service.
type Instance struct {
	// Name identifies the instance among those of its service.
	Name string
	// Addresses are the places where it listens, in the order of preference.
	Addresses []breezeway.Address
	// Weight is the number of its calls in relation to other instances. 0 gets no calls.
	Weight uint32
	// Locality is the host of the instance and the folder of its sockets. Without one, the socket
	// files are not used, as files of the same name on this host may belong to another instance.
	Locality *Locality
	// Framing is set for a server without sessions, which uses Thrift on its sockets: "ttheader",
	// "framed" or "unframed".
	Framing string
}

// A Resolver provides the instances of a service.
type Resolver interface {
	// Resolve returns the instances of a service now. It waits until they are known for the first
	// time; a resolver that cannot learn the present ones returns the last ones that it knew.
	Resolve(ctx context.Context, service string) ([]Instance, error)
}

// Fixed is a Resolver of instances that never change, the same for each service.
type Fixed []Instance

// Resolve returns the instances.
func (f Fixed) Resolve(context.Context, string) ([]Instance, error) { return f, nil }

// New returns an instance of weight 1 on an unknown host, with addresses separated by commas.
func New(name, addresses string) (Instance, error) {
	list, err := breezeway.ParseAddresses(addresses)
	return Instance{Name: name, Addresses: list, Weight: 1}, err
}

// Here returns an instance of weight 1 on this host, with addresses separated by commas. The folder
// of its first socket must exist.
func Here(name, addresses string) (Instance, error) {
	instance, err := New(name, addresses)
	if err != nil {
		return instance, err
	}
	locality, err := LocalityOf(instance.Addresses)
	instance.Locality = &locality
	return instance, err
}

// Way returns the addresses by which a client in this process reaches the instance now, separated
// by commas, and true if they are sockets of this host. It returns "" if there are none.
func (i Instance) Way() (addresses string, isHere bool) {
	here := slices.DeleteFunc(slices.Clone(i.Addresses), func(a breezeway.Address) bool {
		return !isFile(a) || i.Locality == nil || !i.Locality.isSeenAt(a.Path)
	})
	if len(here) > 0 {
		return join(here), true
	}
	return join(slices.DeleteFunc(slices.Clone(i.Addresses), isFile)), false
}

// isFile returns true for the address of a socket file.
func isFile(a breezeway.Address) bool {
	return a.Carrier == breezeway.Shm || a.Carrier == breezeway.Unix
}

func join(addresses []breezeway.Address) string {
	texts := make([]string, len(addresses))
	for i, address := range addresses {
		texts[i] = address.String()
	}
	return strings.Join(texts, ",")
}

// A record is the text of an instance.
type record struct {
	Address  *string `json:"address"`
	Weight   *uint32 `json:"weight,omitempty"`
	Locality *string `json:"locality,omitempty"`
	Framing  *string `json:"framing,omitempty"`
}

// Record returns the text that registers the instance, a JSON object.
func (i Instance) Record() []byte {
	address := join(i.Addresses)
	r := record{Address: &address, Weight: &i.Weight}
	if i.Locality != nil {
		locality := i.Locality.String()
		r.Locality = &locality
	}
	if i.Framing != "" {
		r.Framing = &i.Framing
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // Texts and a number are always written.
	}
	return text
}

var errNoAddress = errors.New("breezeway: the record of the instance has no address")

// Parse returns the instance of a name and a record. Unknown fields are ignored, so that later
// versions may add some.
func Parse(name string, text []byte) (Instance, error) {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return Instance{}, fmt.Errorf("breezeway: the record of the instance: %w", err)
	}
	if r.Address == nil {
		return Instance{}, errNoAddress
	}
	instance, err := New(name, *r.Address)
	if err != nil {
		return Instance{}, err
	}
	if r.Weight != nil {
		instance.Weight = *r.Weight
	}
	if r.Framing != nil {
		switch instance.Framing = *r.Framing; instance.Framing {
		case "ttheader", "framed", "unframed":
		default:
			return Instance{}, fmt.Errorf("breezeway: the framing %q of the instance is unknown",
				instance.Framing)
		}
	}
	if r.Locality != nil {
		locality, err := ParseLocality(*r.Locality)
		if err != nil {
			return Instance{}, err
		}
		instance.Locality = &locality
	}
	return instance, nil
}
