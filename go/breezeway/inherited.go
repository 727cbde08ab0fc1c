package breezeway

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// firstInherited is the first inherited descriptor (SD_LISTEN_FDS_START).
const firstInherited = 3

// inherited returns the listening sockets that this process has inherited according to its
// environment, as from systemd (sd_listen_fds(3)): LISTEN_PID is this process, LISTEN_FDS their
// number. They stay open while this process lives, like those of the process that passed them.
// Servers use copies.
var inherited = sync.OnceValue(inheritedListeners)

func inheritedListeners() (list []net.Listener) {
	pid, err := strconv.Atoi(os.Getenv("LISTEN_PID"))
	count, failed := strconv.ParseUint(os.Getenv("LISTEN_FDS"), 10, 32)
	if err != nil || failed != nil || pid != os.Getpid() {
		return nil
	}
	for fd := firstInherited; count > 0; fd, count = fd+1, count-1 {
		socket, err := inherit(fd)
		if errors.Is(err, unix.EBADF) {
			break
		}
		if err == nil {
			list = append(list, socket)
		}
	}
	return list
}

var errNotPassedOn = errors.New(
	"it was opened by this process, or is not a listening stream socket")

// inherit returns a listener for an inherited descriptor. A descriptor with the close-on-exec flag
// was opened by this process, and is left alone.
func inherit(fd int) (net.Listener, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil {
		return nil, err
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM || flags&unix.FD_CLOEXEC != 0 {
		return nil, errNotPassedOn
	}
	socket, err := adopt(fd)
	if err == nil {
		_ = unix.Close(fd) // The listener has a copy.
	}
	return socket, err
}

// adoptInherited returns a copy of the inherited socket for an address, or nil. It belongs to the
// service manager: its file stays when this server ends.
func adoptInherited(from []net.Listener, address Address) (*bound, error) {
	for _, socket := range from {
		if !listensAt(socket, address) {
			continue
		}
		own, err := copyOf(socket)
		if err != nil {
			return nil, err
		}
		if tcp, is := socket.Addr().(*net.TCPAddr); is { // A successor gets the port's number.
			host, _, _ := net.SplitHostPort(address.Path)
			address.Path = net.JoinHostPort(host, strconv.Itoa(tcp.Port))
		}
		return &bound{address: address, socket: own, kept: true}, nil
	}
	return nil, nil
}

func copyOf(socket net.Listener) (own net.Listener, err error) {
	raw, err := socket.(syscall.Conn).SyscallConn()
	if err == nil {
		failed := raw.Control(func(fd uintptr) { own, err = adopt(int(fd)) })
		err = errors.Join(err, failed)
	}
	return own, err
}

// listensAt returns true if a socket listens at an address.
func listensAt(socket net.Listener, address Address) bool {
	switch at := socket.Addr().(type) {
	case *net.UnixAddr:
		return !address.isRemote() && at.Name == address.Path
	case *net.TCPAddr:
		return address.isRemote() && isPlaceOf(at, address.Path)
	}
	return false
}

// resolvingTime limits the resolution of the names in an address.
const resolvingTime = 5 * time.Second

func isPlaceOf(at *net.TCPAddr, place string) bool {
	host, port, err := net.SplitHostPort(place)
	if err != nil || portOf(port) != at.Port {
		return false
	}
	if host == "" {
		return at.IP.IsUnspecified()
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolvingTime)
	defer cancel()
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	for _, one := range found {
		if one.IP.Equal(at.IP) && one.Zone == at.Zone {
			return err == nil
		}
	}
	return false
}

// portOf returns the number of a port, which may be given as a service's name, or -1.
func portOf(port string) int {
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		return -1
	}
	return number
}
