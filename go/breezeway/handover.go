package breezeway

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
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
		"the admin socket from; set the option WithAdminSocket")
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
			"%d fit into a socket address; set the option WithAdminSocket to a shorter one",
			path, len(path), longestPath)
	}
	return path, nil
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
		s.log.Warn("breezeway: no successor has taken over at the admin socket", "error", err)
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
