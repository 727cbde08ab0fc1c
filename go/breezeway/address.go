package breezeway

import (
	"fmt"
	"net"
	"strings"
)

// A Carrier is the medium that a session travels by.
type Carrier int

const (
	// Shm is shared memory.
	Shm Carrier = iota
	// Unix is a unix stream socket.
	Unix
	// TCP is a TCP connection.
	TCP
	// TLS is a TCP connection with TLS 1.3.
	TLS
)

var carrierNames = [...]string{"shm", "unix", "tcp", "tls"}

func (c Carrier) String() string {
	if c < 0 || int(c) >= len(carrierNames) {
		return fmt.Sprintf("carrier %d", int(c))
	}
	return carrierNames[c]
}

// An Address is a place where a server listens. Its text form is shm:/path, unix:/path,
// tcp:host:port or tls:host:port.
type Address struct {
	Carrier Carrier
	// Path is the socket file's path, or host:port.
	Path string
}

// Host returns the host of a tcp: or tls: address without its port, or "" of any other.
func (a Address) Host() string {
	host, _ := a.hostPort()
	return host
}

// Port returns the port of a tcp: or tls: address, a number or a service's name, or "" of any
// other.
func (a Address) Port() string {
	_, port := a.hostPort()
	return port
}

func (a Address) hostPort() (host, port string) {
	if a.isRemote() {
		host, port, _ = net.SplitHostPort(a.Path)
	}
	return host, port
}

// isRemote returns true for a host and port.
func (a Address) isRemote() bool { return a.Carrier.isRemote() }

func (c Carrier) isRemote() bool { return c == TCP || c == TLS }

// network returns the connection's network name for package net.
func (a Address) network() string {
	if a.isRemote() {
		return "tcp"
	}
	return "unix"
}

// Network returns the name of the carrier. It makes an Address a net.Addr.
func (a Address) Network() string { return a.Carrier.String() }

func (a Address) String() string { return a.Carrier.String() + ":" + a.Path }

// ParseAddress parses one address.
func ParseAddress(text string) (Address, error) {
	scheme, path, _ := strings.Cut(text, ":")
	for carrier, name := range carrierNames {
		if scheme != name {
			continue
		}
		address := Address{Carrier(carrier), path}
		if path == "" {
			return address, fmt.Errorf("breezeway: address %q names no path", text)
		}
		if address.isRemote() {
			if _, _, err := net.SplitHostPort(path); err != nil {
				return address, fmt.Errorf("breezeway: address %q: %w", text, err)
			}
		}
		return address, nil
	}
	const unknown = "breezeway: address %q has no scheme that is known (shm:, unix:, tcp: or tls:)"
	return Address{}, fmt.Errorf(unknown, text)
}

// ParseAddresses parses a list of addresses in the order of preference, separated by commas.
func ParseAddresses(text string) ([]Address, error) {
	var addresses []Address
	for _, part := range strings.Split(text, ",") {
		address, err := ParseAddress(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}
