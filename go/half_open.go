package breezeway

import (
	"container/list"
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// maxHalfOpen is more than are accepted in the milliseconds that an honest client takes for its
// hello.
const maxHalfOpen = 1024

var errPushedOut = errors.New("breezeway: its hello was not complete when the server had too " +
	"many such clients")

// A source is to whom a connection is accounted: a user, or over TCP a host.
type source struct {
	user segment.User
	host netip.Addr
}

func sourceOf(conn net.Conn) source {
	if remote, is := conn.RemoteAddr().(*net.TCPAddr); is {
		return source{host: hostOf(remote.AddrPort().Addr())}
	}
	raw, err := rawConn(conn)
	if err != nil {
		return source{}
	}
	peer, _ := peerOf(raw)
	return source{user: userOf(peer)}
}

// hostOf is the host of an address: over IPv6 the network of 64 bits, of which a host may take any
// address.
func hostOf(address netip.Addr) netip.Addr {
	address = address.Unmap()
	if address.Is6() {
		network, _ := address.WithZone("").Prefix(64)
		return network.Addr()
	}
	return address
}

// halfOpens are the connections of a server's clients whose hello is not complete. There is room
// for a limited number: one more pushes out the oldest of the source that has the most, so that no
// source keeps another one out.
type halfOpens struct {
	most   int
	places map[net.Conn]place
	// sources are the connections of each source, the oldest first.
	sources map[source]*list.List
}

type place struct {
	source  source
	element *list.Element
}

// newHalfOpens has room for no more than a quarter of the descriptors that this process may have.
func newHalfOpens() *halfOpens {
	most := maxHalfOpen
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		most = max(int(min(files.Cur/4, maxHalfOpen)), 1)
	}
	return &halfOpens{most: most, places: map[net.Conn]place{}, sources: map[source]*list.List{}}
}

func (h *halfOpens) isFull() bool { return len(h.places) >= h.most }

// add notes a connection, and gives the one that it pushes out, if any.
func (h *halfOpens) add(conn net.Conn, from source) (victim net.Conn) {
	if h.isFull() {
		victim = h.oldestOfLargest()
		h.remove(victim)
	}
	order := h.sources[from]
	if order == nil {
		order = list.New()
		h.sources[from] = order
	}
	h.places[conn] = place{from, order.PushBack(conn)}
	return victim
}

// remove forgets a connection; false if it was pushed out, or removed before.
func (h *halfOpens) remove(conn net.Conn) bool {
	at, is := h.places[conn]
	if !is {
		return false
	}
	delete(h.places, conn)
	order := h.sources[at.source]
	if order.Remove(at.element); order.Len() == 0 {
		delete(h.sources, at.source)
	}
	return true
}

func (h *halfOpens) oldestOfLargest() net.Conn {
	var largest *list.List
	for _, order := range h.sources {
		if largest == nil || order.Len() > largest.Len() {
			largest = order
		}
	}
	return largest.Front().Value.(net.Conn)
}

// shutDown ends a connection for the goroutine that reads its hello, which closes it.
func shutDown(conn net.Conn) {
	if raw, err := rawConn(conn); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	}
}
