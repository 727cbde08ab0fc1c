package breezeway

import (
	"container/list"
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// maxHalfOpen is more connections than are accepted in the milliseconds that an honest client takes
// for its hello.
const maxHalfOpen = 1024

var errPushedOut = errors.New("breezeway: its hello was not complete when the server had too " +
	"many such clients")

// A source is the user, or over TCP the host, that a connection is accounted to.
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

// hostOf returns the host of an address. For IPv6 it is the 64-bit network, since a host may use
// any address of it.
func hostOf(address netip.Addr) netip.Addr {
	address = address.Unmap()
	if address.Is6() {
		network, _ := address.WithZone("").Prefix(64)
		return network.Addr()
	}
	return address
}

// halfOpens holds the connections of a server's clients with an incomplete hello. Their number is
// limited. One more pushes out the oldest connection of the source with the most, so that no source
// excludes another.
type halfOpens struct {
	most   int
	places map[net.Conn]place
	// sources holds the connections of each source, the oldest first.
	sources map[source]*list.List
}

type place struct {
	source  source
	element *list.Element
}

// newHalfOpens limits the connections to a quarter of the descriptors that this process may have.
func newHalfOpens() *halfOpens {
	most := maxHalfOpen
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		most = max(int(min(files.Cur/4, maxHalfOpen)), 1)
	}
	return &halfOpens{most: most, places: map[net.Conn]place{}, sources: map[source]*list.List{}}
}

func (h *halfOpens) isFull() bool { return len(h.places) >= h.most }

// add adds a connection, and returns the one that it pushes out, if any.
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

// remove removes a connection. It returns false if the connection was pushed out or removed before.
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

// shutDown ends a connection. The goroutine that reads its hello closes it.
func shutDown(conn net.Conn) {
	if raw, err := rawConn(conn); err == nil {
		hangUp(raw)
	}
}
