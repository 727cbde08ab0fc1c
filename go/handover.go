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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// These are the messages by which a successor takes over the listening sockets of a running server,
// at the admin socket beside the server's; see docs/restarting.md. They travel on one connection:
//
//   - the successor: ask
//   - the predecessor, for each socket: its kind, the length of its place as two bytes, and the
//     place as text, with the socket's descriptor on the first byte; at the end, lastSocket and
//     two zeros
//   - the successor, when it serves: isReady and eight bytes, with bit n set if it has taken the
//     n-th socket
//   - the predecessor, in answer: isDone
const (
	ask         = "BRZWTAK1"
	lastSocket  = 0
	aSocket     = 1
	keptSocket  = 2 // of a service manager, which removes its file
	adminSocket = 3
	isReady     = 'R'
	isDone      = 'D'

	adminMode    = 0o600
	longestPlace = 4096
	mostSockets  = 64
	// askingTime is how long a client may take to ask, startingTime how long it may take from then
	// until it serves, and patience how long a predecessor may take for each answer.
	askingTime   = time.Second
	startingTime = 10 * time.Second
	patience     = 5 * time.Second
)

// A TakeOverError is the reason why a server could not take over from another one.
type TakeOverError struct {
	Path   string // of the admin socket
	Reason error
}

func (e *TakeOverError) Error() string {
	return fmt.Sprintf("breezeway: taking over from the server at %s: %v", e.Path, e.Reason)
}

// Unwrap returns the reason.
func (e *TakeOverError) Unwrap() error { return e.Reason }

var (
	errOtherUser = errors.New("it is another user's, and servers hand over to their own user only")
	errGarbled   = errors.New("it does not speak as servers of this version do")
	errNoAdmin   = errors.New("breezeway: no address has a socket file to derive the path of " +
		"the admin socket from; set the option AdminSocket")
)

// A succession is a server's part in taking over and being taken over.
type succession struct {
	path  string
	admin *bound
	// predecessor is the connection to the server to take over from, or nil.
	predecessor *net.UnixConn
	// taken has a bit for each of the predecessor's sockets, which is set if this server has taken
	// it.
	taken uint64
}

// An offer is a listening socket offered by a predecessor.
type offer struct {
	address Address
	kept    bool
	socket  net.Listener
}

// adminPath returns the path of the admin socket.
func (o *options) adminPath(list []Address) (string, error) {
	path := o.adminSocket
	for _, address := range list {
		if path == "" && !address.isRemote() {
			path = address.Path + ".admin"
		}
	}
	if path == "" {
		return "", errNoAdmin
	}
	if len(path) > longestPath {
		return "", fmt.Errorf("breezeway: the path of the admin socket, %s, is %d bytes long and "+
			"%d fit into a socket address; set the option AdminSocket to a shorter one",
			path, len(path), longestPath)
	}
	return path, nil
}

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
	if errors.As(err, new(*ShortageError)) {
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

// withAdmin returns all sockets, the admin socket last.
func (s *Server) withAdmin() []*bound {
	return append(s.bound[:len(s.bound):len(s.bound)], s.succession.admin)
}

// end closes the admin socket and the connection to a predecessor.
func (s *succession) end() {
	if s.admin != nil {
		s.admin.close(new(sync.WaitGroup))
	}
	if s.predecessor != nil {
		_ = s.predecessor.Close()
		s.predecessor = nil
	}
}

// answerSuccessors answers at the admin socket, one client after the other, until one has taken
// over or the server ends.
func (s *Server) answerSuccessors() {
	for {
		conn, err := s.succession.admin.socket.Accept()
		if err != nil {
			if s.isClosed() || !pause(err) {
				return
			}
			continue
		}
		err = s.handOver(conn.(*net.UnixConn))
		_ = conn.Close()
		if err == nil {
			return
		}
		s.Log.Warn("breezeway: no successor has taken over at the admin socket", "error", err)
	}
}

func (s *Server) handOver(conn *net.UnixConn) error {
	if err := checkSameUser(conn); err != nil {
		return err
	}
	readUrgentInLine(conn)
	_ = conn.SetDeadline(time.Now().Add(askingTime))
	asked := make([]byte, len(ask))
	fds, err := readFull(conn, asked)
	closeAll(fds)
	if err != nil {
		return err
	}
	if string(asked) != ask {
		return errGarbled
	}
	for _, b := range s.bound {
		kind := byte(aSocket)
		if b.kept {
			kind = keptSocket
		}
		if err := sendSocket(conn, kind, b.address.String(), b.socket); err != nil {
			return err
		}
	}
	err = sendSocket(conn, adminSocket, "", s.succession.admin.socket)
	if err == nil {
		_, err = conn.Write([]byte{lastSocket, 0, 0})
	}
	if err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(startingTime))
	var ready [9]byte
	fds, err = readFull(conn, ready[:])
	closeAll(fds)
	if err != nil {
		return err
	}
	if ready[0] != isReady {
		return errGarbled
	}
	return s.succeeded(conn, binary.LittleEndian.Uint64(ready[1:]))
}

// sendSocket sends one socket with its kind and place.
func sendSocket(conn *net.UnixConn, kind byte, place string, socket net.Listener) error {
	raw, err := socket.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	bytes := binary.LittleEndian.AppendUint16([]byte{kind}, uint16(len(place)))
	bytes = append(bytes, place...)
	var failed error
	err = raw.Control(func(fd uintptr) {
		_, _, failed = conn.WriteMsgUnix(bytes, unix.UnixRights(int(fd)), nil)
	})
	return errors.Join(err, failed)
}

// succeeded confirms to a successor that it has taken over, and ends this server once its clients
// have moved. A successor without the confirmation does not serve.
func (s *Server) succeeded(conn *net.UnixConn, taken uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return ErrServerClosed
	}
	if _, err := conn.Write([]byte{isDone}); err != nil {
		return err
	}
	s.draining, s.handedOver = true, true
	for i, b := range s.withAdmin() {
		if i == len(s.bound) || i < mostSockets && taken&(1<<i) != 0 {
			b.file = nil // The successor removes it.
		}
	}
	go s.leaveToSuccessor()
	return nil
}
