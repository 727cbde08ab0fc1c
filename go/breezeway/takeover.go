package breezeway

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// takeOver listens at addresses. It uses sockets of a predecessor or of a service manager if there
// are any, and creates the others.
func (s *Server) takeOver(list []Address) (err error) {
	path, err := s.opts.adminPath(list)
	if err != nil {
		return err
	}
	s.succession = &succession{path: path}
	offers, err := s.succession.ask()
	if err != nil {
		s.succession = nil
		return &TakeOverError{path, err}
	}
	defer func() {
		for _, offer := range offers {
			_ = offer.socket.Close() // A copy that was not taken.
		}
		if err != nil {
			s.unbind()
			s.succession.end()
			s.bound, s.succession = nil, nil
		}
	}()
	for _, address := range list {
		b := s.succession.take(offers, address)
		if b == nil {
			b, err = adoptInherited(inherited(), address)
		}
		if b == nil && err == nil {
			b, err = bind(address, s.opts.socketMode)
		}
		if err != nil {
			return fmt.Errorf("breezeway: listen at %v: %w", address, err)
		}
		s.bound = append(s.bound, b)
	}
	if s.succession.admin == nil {
		s.succession.admin, err = bind(Address{Unix, path}, adminMode)
	}
	return err
}

// ask asks the server at the path for its sockets, if there is one. That server keeps serving until
// begin.
func (s *succession) ask() (offers []*offer, err error) {
	conn, err := connectTo(context.Background(), Address{Unix, s.path}, patience)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.predecessor = conn.(*net.UnixConn)
	defer func() {
		if err == nil {
			return
		}
		for _, offer := range offers {
			_ = offer.socket.Close()
		}
		offers = nil
		s.end()
	}()
	readUrgentInLine(conn)
	_ = conn.SetDeadline(time.Now().Add(patience))
	if err := checkSameUser(s.predecessor); err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte(ask)); err != nil {
		return nil, err
	}
	for {
		kind, place, socket, err := receiveSocket(s.predecessor)
		switch {
		case err != nil:
			return offers, err
		case kind == lastSocket && s.admin == nil:
			return offers, errGarbled
		case kind == lastSocket:
			return offers, nil
		case kind == adminSocket && s.admin == nil:
			s.admin = &bound{address: Address{Unix, s.path}, socket: socket}
			continue
		}
		address, err := ParseAddress(place)
		if err != nil || kind == adminSocket || len(offers) == mostSockets {
			_ = socket.Close()
			return offers, errors.Join(errGarbled, err)
		}
		offers = append(offers, &offer{address, kind == keptSocket, socket})
	}
}

// checkSameUser returns an error if the peer is of another user, according to the kernel.
func checkSameUser(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	peer, err := peerOf(raw)
	if err == nil && !peer.IsSameUser() {
		err = errOtherUser
	}
	return err
}

// receiveSocket receives one socket with its kind and place.
func receiveSocket(conn *net.UnixConn) (kind byte, place string, socket net.Listener, err error) {
	var head [3]byte
	fds, err := readFull(conn, head[:])
	defer closeAll(fds)
	if err != nil {
		return 0, "", nil, err
	}
	length := int(binary.LittleEndian.Uint16(head[1:]))
	if kind = head[0]; kind > adminSocket || length > longestPlace {
		return 0, "", nil, errGarbled
	}
	name := make([]byte, length)
	more, err := readFull(conn, name)
	fds = append(fds, more...)
	defer closeAll(more)
	wanted := 1
	if kind == lastSocket {
		wanted = 0
	}
	if isShortage(err) {
		return 0, "", nil, err
	}
	if err != nil || len(fds) != wanted {
		return 0, "", nil, errors.Join(errGarbled, err)
	}
	if wanted == 1 {
		socket, err = adopt(fds[0])
	}
	return kind, string(name), socket, err
}

// readFull fills a slice, and returns the descriptors that arrive with its bytes.
func readFull(conn *net.UnixConn, to []byte) (fds []int, err error) {
	for len(to) > 0 && err == nil {
		var n int
		var more []int
		n, more, err = readWithRights(conn, to)
		fds = append(fds, more...)
		switch {
		case err == nil && n > 0:
			to = to[n:]
		case err == nil || errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET):
			err = errors.New("it has ended; start again")
		}
	}
	return fds, err
}

// adopt returns a listener for a copy of a descriptor, if that is a listening socket.
func adopt(fd int) (net.Listener, error) {
	listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil || listens != 1 {
		return nil, errors.Join(errGarbled, err)
	}
	copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(copied), "listener")
	defer file.Close()
	return net.FileListener(file)
}

// take takes the offered socket for an address, if there is one. For an address with port 0, any
// port of the predecessor matches.
func (s *succession) take(offers []*offer, address Address) *bound {
	for i, offer := range offers {
		if s.taken&(1<<i) != 0 || !offer.serves(address) {
			continue
		}
		s.taken |= 1 << i
		b := &bound{address: offer.address, socket: offer.socket, kept: offer.kept}
		offer.socket = taken{}
		return b
	}
	return nil
}

func (o *offer) serves(wanted Address) bool {
	if !wanted.isRemote() || wanted.Carrier != o.address.Carrier {
		return o.address == wanted
	}
	host, port, _ := net.SplitHostPort(wanted.Path)
	offered, offeredPort, _ := net.SplitHostPort(o.address.Path)
	number := portOf(port) // A successor may be started with a service's name.
	return host == offered && (number == 0 || number == portOf(offeredPort))
}

// A taken replaces the socket of an offer that was taken.
type taken struct{ net.Listener }

func (taken) Close() error { return nil }

// begin informs the predecessor that this server serves. The predecessor then accepts no more
// clients. A server that is closed earlier does not become a successor. One that is closed during
// begin still learns whether it owns the socket files, and removes them.
func (s *Server) begin() error {
	s.mu.Lock()
	own := s.succession
	predecessor := own.predecessor
	own.predecessor = nil
	s.mu.Unlock()
	if predecessor == nil {
		return nil
	}
	defer predecessor.Close()
	_ = predecessor.SetDeadline(time.Now().Add(patience))
	ready := binary.LittleEndian.AppendUint64([]byte{isReady}, own.taken)
	var answer [1]byte
	_, err := predecessor.Write(ready)
	if err == nil {
		var fds []int
		fds, err = readFull(predecessor, answer[:])
		closeAll(fds)
	}
	if err == nil && answer[0] != isDone {
		err = errGarbled
	}
	if err != nil {
		return &TakeOverError{own.path, err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.withAdmin() {
		b.own()
		if s.stopped {
			b.close(new(sync.WaitGroup))
		}
	}
	return nil
}
