package breezeway

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// An agreement holds both hellos. The control segments are nil without shared memory.
type agreement struct {
	carrier                 Carrier
	own, peer               *proto.Hello
	ownControl, peerControl *segment.Mapping
	// within is set over tls:.
	within *secured
	// account is the account that a server's memory is charged to.
	account segment.Account
}

// A greeting is a new connection before the hellos.
type greeting struct {
	conn    net.Conn
	raw     syscall.RawConn
	carrier Carrier
	peer    Peer
	within  *secured
	// refused holds received descriptors that are not taken. Closing them may take as long as the
	// peer likes.
	refused []int
	// foreign holds the first bytes of a client of another protocol.
	foreign []byte
	// begun is called when the first bytes of the hello have arrived; nil for no call.
	begun func()
}

// meet prepares a connection, performs the TLS handshake if there is one, and determines the peer.
// The caller has set the connection's deadline, which the end of its context may have moved since.
func meet(conn net.Conn, carrier Carrier, config *tls.Config, isClient bool) (*greeting, error) {
	raw, err := rawConn(conn)
	if err != nil {
		return nil, err
	}
	g := &greeting{conn: conn, raw: raw, carrier: carrier}
	switch carrier {
	case TCP:
		err = prepareTCP(raw)
	case TLS:
		if err = prepareTCP(raw); err == nil {
			g.within, err = secure(conn, config, isClient)
		}
		if err == nil {
			g.peer.Identity = g.within.identity()
		}
	default:
		g.peer, err = peerOf(raw)
	}
	return g, err
}

// speaks returns the connection that carries the hellos.
func (g *greeting) speaks() net.Conn {
	if g.within != nil {
		return g.within.tls
	}
	return g.conn
}

// rawConn returns access to the descriptor of a connection.
func rawConn(conn net.Conn) (syscall.RawConn, error) {
	system, is := conn.(syscall.Conn)
	if !is {
		return nil, fmt.Errorf("breezeway: a connection of type %T has no descriptor", conn)
	}
	return system.SyscallConn()
}

// connect performs the client's side of the handshake.
func connect(g *greeting, opts *options) (*agreement, error) {
	conn := g.speaks()
	own := opts.hello(g.carrier == Shm)
	own.GoAway = true
	agreed := &agreement{carrier: g.carrier, own: own, within: g.within}
	fd := -1
	if own.Memory {
		var err error
		if agreed.ownControl, fd, err = controlSegment(own, agreed.account); err != nil {
			return nil, err
		}
		defer unix.Close(fd)
	}
	err := sendHello(conn, own.Encode(), fd)
	if err != nil && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		agreed.drop()
		return nil, err
	}
	// A server that refuses may have closed already; its answer can still be read.
	err = agreed.receive(g)
	if err != nil {
		agreed.drop()
		return nil, exported(err)
	}
	return agreed, conn.SetDeadline(time.Time{})
}

func controlSegment(hello *proto.Hello, account segment.Account) (*segment.Mapping, int, error) {
	if err := segment.Probe(); err != nil {
		return nil, -1, exported(err)
	}
	control, fd, err := shm.Control(hello, account)
	return control, fd, exported(err)
}

func (a *agreement) drop() {
	if a.ownControl != nil {
		a.ownControl.Drop()
	}
	if a.peerControl != nil {
		a.peerControl.Drop()
	}
}

// receive receives the peer's hello and maps its control segment.
func (a *agreement) receive(g *greeting) error {
	hello, fds, err := receiveHello(g.speaks(), g.begun)
	g.refused = fds
	if err != nil {
		return err
	}
	a.peer = hello
	if err := hello.CheckMemory(a.own, a.carrier.String()); err != nil {
		return err
	}
	wanted := 0
	if hello.Memory {
		wanted = 1
	}
	if len(fds) != wanted {
		return proto.HelloViolation("a hello comes with %d file descriptors; this one came with %d",
			wanted, len(fds))
	}
	if !hello.Memory {
		return nil
	}
	a.peerControl, err = segment.Map(fds[0], proto.ControlSize(hello.RingCapacity))
	if err = exported(err); err != nil && !isShortage(err) {
		return proto.HelloViolation("%v", err)
	}
	closeAll(fds) // These are sealed memory.
	g.refused = nil
	return err
}

// explained returns the error of a handshake, with the reason if the handshake took too long.
func (o *options) explained(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return fmt.Errorf("breezeway: no hello within %v; the peer hangs or does not speak "+
		"Breezeway: %w", o.handshakeTimeout, err)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

func sendHello(conn net.Conn, bytes []byte, fd int) error {
	if fd < 0 {
		_, err := conn.Write(bytes)
		return err
	}
	_, _, err := conn.(*net.UnixConn).WriteMsgUnix(bytes, unix.UnixRights(fd), nil)
	return err
}

// receiveHello reads a hello, and no byte behind it, with the descriptors that come with it. It
// calls begun, if that is not nil, after the first bytes.
func receiveHello(conn net.Conn, begun func()) (*proto.Hello, []int, error) {
	readUrgentInLine(conn)
	var bytes []byte
	var fds []int
	for {
		wanted, err := proto.HelloWanted(bytes)
		if err != nil && refusalOf(err) == 0 {
			err = &foreignError{err, bytes}
		}
		if err != nil {
			return nil, fds, err
		}
		if wanted == 0 {
			hello, err := proto.DecodeHello(bytes)
			return hello, fds, err
		}
		piece := make([]byte, wanted)
		n, more, err := readWithRights(conn, piece)
		if fds = append(fds, more...); len(fds) > 1 {
			return nil, fds, proto.HelloViolation("a hello with more than one file descriptor")
		}
		if n == 0 || err != nil {
			if isShortage(err) {
				return nil, fds, err
			}
			if err == nil || errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
				err = errHandshakeClosed
			} else if _, is := conn.(*tls.Conn); is && !errors.Is(err, os.ErrDeadlineExceeded) {
				err = &TLSError{err} // A server validates a client's certificate late.
			}
			return nil, fds, err
		}
		if begun != nil && len(bytes) == 0 {
			begun()
		}
		bytes = append(bytes, piece[:n]...)
	}
}

// A foreignError is returned for first bytes of another protocol.
type foreignError struct {
	error
	bytes []byte
}

func (e *foreignError) Unwrap() error { return e.error }

var errHandshakeClosed = errors.New("breezeway: the peer closed the connection during the " +
	"handshake; it may just have ended, or may not speak Breezeway")

var errNoDescriptor = &ShortageError{Text: "breezeway: a descriptor arrived that this process " +
	"has no number for (raise the limit of open files, ulimit -n)", Err: unix.EMFILE}

// readUrgentInLine makes urgent data (MSG_OOB) readable like any other byte, including data that
// has already arrived. Otherwise a read drops it together with its descriptors, and a peek skips
// it.
func readUrgentInLine(conn net.Conn) {
	socket, is := conn.(*net.UnixConn)
	if !is {
		return
	}
	if raw, err := socket.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_OOBINLINE, 1)
		})
	}
}

func readWithRights(conn net.Conn, piece []byte) (int, []int, error) {
	socket, is := conn.(*net.UnixConn)
	if !is {
		n, err := conn.Read(piece)
		return n, nil, err
	}
	oob := make([]byte, unix.CmsgSpace(4*segment.MaxRights)) // Descriptors beyond it are closed.
	n, oobn, flags, _, err := socket.ReadMsgUnix(piece, oob)
	fds := segment.Rights(oob[:oobn])
	if err == nil && flags&unix.MSG_CTRUNC != 0 && len(fds) == 0 {
		err = errNoDescriptor // The buffer has room for all that may come.
	}
	return n, fds, err
}

// hear receives a client's hello: the first part of the server's side of the handshake. It answers
// only to refuse.
func hear(g *greeting, opts *options) (*agreement, error) {
	agreed := &agreement{carrier: g.carrier, own: opts.hello(g.carrier == Shm), within: g.within}
	if err := agreed.receive(g); err != nil {
		return nil, agreed.refuse(g, err)
	}
	return agreed, nil
}

// answer answers an admitted client: the second part of the handshake. It sends the reason of a
// failure.
func (a *agreement) answer(g *greeting) error {
	if err := a.sayHello(g); err != nil {
		return a.refuse(g, err)
	}
	return g.speaks().SetDeadline(time.Time{})
}

// refuse sends an error to a client, and returns it.
func (a *agreement) refuse(g *greeting, err error) error {
	a.drop()
	if status := refusalOf(err); status != 0 {
		refuse(g.speaks(), status, err.Error())
	}
	return err
}

func (a *agreement) sayHello(g *greeting) error {
	a.own.Mirror(a.peer)
	fd := -1
	if a.own.Memory {
		var err error
		if a.ownControl, fd, err = controlSegment(a.own, a.account); err != nil {
			return err
		}
		defer unix.Close(fd)
	}
	return sendHello(g.speaks(), a.own.Encode(), fd)
}

// refusalOf returns the status that a client is sent for an error, or 0 if it is sent nothing.
func refusalOf(err error) uint32 {
	if isShortage(err) {
		return proto.RefusedNoMemory
	}
	return proto.StatusOf(err)
}

// refuse sends a client the reason why it is not served. It ignores errors, since the client may be
// gone or speak another protocol.
func refuse(conn net.Conn, status uint32, reason string) {
	_ = sendHello(conn, proto.EncodeRefusal(status, reason), -1)
}
