package breezeway

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

const (
	// refusedAtOnce bounds the concurrent TLS handshakes of clients that are then refused.
	refusedAtOnce = 64
	// slowAtOnce bounds the refused connections that are slow to close.
	slowAtOnce = 128
)

// refuseBusy sends a client the reason why it is not served, and closes its connection. It waits
// only if the maximum number of connections that are slow to close is reached.
func (s *Server) refuseBusy(conn net.Conn, carrier Carrier, reason error) {
	if carrier != TLS {
		refuse(conn, proto.RefusedBusy, reason.Error())
		s.letGo(conn)
		return
	}
	// Nothing can be sent to the client before its handshake.
	select {
	case s.refusing <- struct{}{}:
	default:
		_ = conn.Close()
		return
	}
	s.mu.Lock()
	s.pending[conn] = struct{}{}
	s.limitHandshake(conn)
	s.mu.Unlock()
	s.served.Add(1)
	go func() {
		defer s.served.Done()
		defer func() { <-s.refusing }()
		defer conn.Close()
		if g, err := meet(conn, TLS, s.tls, false); err == nil {
			refuse(g.speaks(), proto.RefusedBusy, reason.Error())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pending, conn)
	}()
}

// letGo closes a refused connection, in a goroutine if that can take a while.
func (s *Server) letGo(conn net.Conn) {
	if !isSlowToClose(conn) {
		_ = conn.Close()
		return
	}
	select {
	case s.refused <- struct{}{}:
	case <-s.idle:
		closeApart(conn, nil, make(chan struct{}))
		return
	}
	s.served.Add(1)
	go func() {
		defer s.served.Done()
		closed := make(chan struct{})
		closeApart(conn, nil, closed)
		s.waitFor(closed)
		<-s.refused
	}()
}

// isSlowToClose returns true if the connection holds descriptors that may be slow to close. Sealed
// memory, as in a hello, is not. It shuts the connection down, so that no more descriptors arrive.
func isSlowToClose(conn net.Conn) bool {
	socket, is := conn.(*net.UnixConn)
	if !is {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	readUrgentInLine(conn)
	does := true
	_ = raw.Control(func(fd uintptr) {
		_ = unix.Shutdown(int(fd), unix.SHUT_RDWR)
		does = holdsForeign(int(fd))
	})
	return does
}

// holdsForeign finds descriptors in a socket by a peek, which leaves them there.
func holdsForeign(socket int) bool {
	unread, err := unix.IoctlGetInt(socket, unix.SIOCINQ)
	if err != nil || unread == 0 {
		return err != nil
	}
	receiver := segment.NewReceiver(segment.MaxRights)
	n, control, flags, err := receiver.Receive(socket, make([]byte, unread),
		unix.MSG_PEEK|unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	descriptors := segment.Rights(control)
	defer closeAll(descriptors)
	// A peek ends with the first descriptors.
	if err != nil || n < unread || flags&unix.MSG_CTRUNC != 0 {
		return true
	}
	for _, fd := range descriptors {
		if _, err := segment.Accept(fd); err != nil {
			return true
		}
	}
	return false
}
