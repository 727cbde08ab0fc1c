package breezeway

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// readAtOnce is the number of bytes to read from a socket at once, apart from large bodies.
const readAtOnce = 64 << 10

// A socketLink carries messages as frames on a unix or TCP connection (section 8).
type socketLink struct {
	kind    Carrier
	conn    net.Conn
	raw     syscall.RawConn
	limit   int
	readFn  func(fd uintptr)
	writeFn func(fd uintptr)

	// in[from:] holds bytes that were read and not taken. body holds the first got bytes of a large
	// body that is still arriving.
	in       []byte
	from     int
	head     proto.Head
	body     []byte
	got      int
	inBody   bool
	bodyLen  int
	closed   bool
	stopped  bool // no entry is taken any more
	readErr  error
	readMore bool
	receiver segment.Receiver
	// foreign holds received descriptors.
	foreign []int
	gone    bool // the peer's process has exited, even if another one has its socket

	// out[sent:] is left to write. writing is true while a goroutine writes it.
	out     []byte
	sent    int
	writing bool
	// Over tls:, plain holds bytes before their encryption, and out those after it.
	tls    *secured
	plain  []byte
	sleeps uint64
	frames uint64
}

func newSocketLink(kind Carrier, conn net.Conn, raw syscall.RawConn, limit int,
	within *secured) *socketLink {
	l := &socketLink{kind: kind, conn: conn, raw: raw, limit: limit}
	if kind == Unix { // The reader closes descriptors that do not fit.
		l.receiver = segment.NewReceiver(segment.MaxRights)
	}
	l.readFn, l.writeFn = l.read, l.write
	l.in = make([]byte, 0, readAtOnce)
	if within != nil {
		l.tls, within.agreed, within.link = within, true, l
	}
	return l
}

func (l *socketLink) carrier() Carrier { return l.kind }
func (l *socketLink) isClosed() bool   { return l.closed }
func (l *socketLink) maxMessage() int  { return l.limit }
func (l *socketLink) armRoom(bool)     { l.flush() }
func (l *socketLink) disarmRoom()      {}
func (l *socketLink) close()           { l.in, l.body, l.out, l.plain = nil, nil, nil, nil }

func (l *socketLink) exited() { l.gone = true }
func (l *socketLink) stop()   { l.stopped = true }

func (l *socketLink) refused() []int {
	refused := l.foreign
	l.foreign = nil
	return refused
}

func (l *socketLink) hasRoom() (bool, error) { return l.unwritten() < proto.MaxUnwritten, nil }

// unwritten returns the number of bytes that the socket has not accepted.
func (l *socketLink) unwritten() int { return len(l.plain) + len(l.out) - l.sent }

func (l *socketLink) take(in *incoming) (taken, progress bool, err error) {
	if !l.inBody {
		if len(l.in)-l.from < proto.FrameLen {
			return false, false, nil
		}
		head, length, err := proto.DecodeFrame(l.in[l.from:], uint64(l.limit))
		if err != nil {
			return false, false, violation(err)
		}
		l.from += proto.FrameLen
		l.head, l.bodyLen, l.inBody, l.got = head, length, true, 0
	}
	if rest := l.in[l.from:]; l.got == 0 && len(rest) >= l.bodyLen {
		l.give(in, rest[:l.bodyLen])
		l.from += l.bodyLen
		return true, true, nil
	}
	if l.bodyLen > readAtOnce/2 {
		l.collect()
		if l.got == l.bodyLen {
			in.entry.Head, in.message = l.head, Message{length: l.bodyLen, private: l.body}
			l.body, l.inBody = nil, false
			return true, true, nil
		}
	}
	return false, false, nil
}

// give makes a message of bytes in the buffer.
func (l *socketLink) give(in *incoming, bytes []byte) {
	in.entry.Head, l.inBody = l.head, false
	m := &in.message
	m.length, m.start, m.lent, m.private = len(bytes), 0, nil, nil
	m.metadata, m.hasMetadata = nil, false
	if copy(m.inline[:], bytes) < len(bytes) {
		m.private = append([]byte(nil), bytes...)
	}
}

// collect moves the received bytes of a large body to its own slice, which grows as bytes arrive
// rather than to the announced length.
func (l *socketLink) collect() {
	n := min(len(l.in)-l.from, l.bodyLen-l.got)
	l.body = append(l.body, l.in[l.from:l.from+n]...)
	l.from += n
	l.got += n
}

// fill reads once, without waiting.
func (l *socketLink) fill() error {
	if l.stopped {
		l.in, l.from, l.body, l.inBody = l.in[:0], 0, nil, false
	}
	if l.from > 0 {
		l.in = l.in[:copy(l.in, l.in[l.from:])]
		l.from = 0
	}
	l.readErr, l.readMore = nil, false
	if err := l.raw.Control(l.readFn); err != nil {
		l.closed = true
	}
	if l.tls != nil {
		l.flush() // Reading may have caused TLS to answer.
	}
	return l.readErr
}

func (l *socketLink) room() []byte {
	// After its first bytes, a large body is read directly into its slice.
	if l.inBody && l.got > 0 && len(l.in) == 0 {
		if cap(l.body) == len(l.body) {
			grown := make([]byte, len(l.body), min(2*len(l.body)+readAtOnce, l.bodyLen))
			copy(grown, l.body)
			l.body = grown
		}
		return l.body[len(l.body):min(cap(l.body), l.bodyLen)]
	}
	return l.in[len(l.in):cap(l.in)]
}

func (l *socketLink) read(fd uintptr) {
	room := l.room()
	if len(room) == 0 {
		return
	}
	if l.tls != nil {
		n, closed, err := l.tls.readWithin(fd, room)
		l.closed, l.readErr = l.closed || closed, err
		l.came(n)
		return
	}
	n, control, flags, err := l.receive(int(fd), room)
	for errors.Is(err, unix.EINTR) {
		n, control, flags, err = l.receive(int(fd), room)
	}
	switch {
	// A descriptor beyond the limit on open files is closed by the read, however long that takes.
	case len(control) > 0 || flags&unix.MSG_CTRUNC != 0:
		l.foreign = append(l.foreign, segment.Rights(control)...)
		l.readErr = violated("file descriptors where messages travel on the socket")
	case errors.Is(err, unix.EAGAIN):
		l.closed = l.closed || l.gone
	case err != nil || n == 0:
		l.closed = true
	default:
		l.came(n)
	}
}

// came records that n bytes were read into the room.
func (l *socketLink) came(n int) {
	if l.inBody && l.got > 0 && len(l.in) == 0 {
		l.body = l.body[:len(l.body)+n]
		l.got += n
	} else {
		l.in = l.in[:len(l.in)+n]
	}
	l.readMore = n > 0
}

func (l *socketLink) receive(fd int, room []byte) (n int, control []byte, flags int, err error) {
	if l.kind == TCP {
		n, err = unix.Read(fd, room)
		return n, nil, 0, err
	}
	return l.receiver.Receive(fd, room, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
}

func (l *socketLink) prepareSleep() (bool, error) {
	l.flush()
	err := l.fill()
	if err == nil && !l.readMore && !l.closed {
		l.sleeps++
	}
	return !l.readMore && !l.closed, err
}

func (l *socketLink) awake() error { return l.fill() }

// ---- sending ----

func (l *socketLink) send(head proto.Head, out *outgoing) error {
	head.Flags |= out.flags()
	total := out.prefixLen() + out.length()
	if total > l.limit {
		return &TooLargeError{Len: total, Max: l.limit}
	}
	if !proto.FitsBacklog(head.Kind, l.unwritten()) {
		return shm.ErrFull
	}
	l.frames++
	if l.sent >= proto.MaxUnwritten { // A backlog that is never empty would grow forever.
		l.out, l.sent = l.out[:copy(l.out, l.out[l.sent:])], 0
	}
	to := &l.out
	if l.tls != nil {
		to = &l.plain
	}
	frames := proto.AppendFrame(*to, head, total)
	switch at := len(frames); {
	case out.reserved != nil:
		frames = append(frames, out.reserved.private...)
	case out.isPlain():
		frames = append(frames, out.bytes...)
	default:
		frames = append(frames, make([]byte, total)...)
		if err := out.writeTo(frames[at:]); err != nil {
			return err
		}
	}
	*to = frames
	return nil
}

func (l *socketLink) reserve(n int) (*Reservation, error) {
	if n > l.limit {
		return nil, &TooLargeError{Len: n, Max: l.limit}
	}
	return &Reservation{length: n, private: make([]byte, n)}, nil
}

// flush writes what the socket accepts. The session writes the rest: see keepWriting.
func (l *socketLink) flush() {
	l.encrypt()
	if l.sent == len(l.out) || l.writing {
		return
	}
	if err := l.raw.Control(l.writeFn); err != nil {
		l.sent = len(l.out)
	}
	if l.sent == len(l.out) {
		l.out, l.sent = l.out[:0], 0
		if cap(l.out) > 4*proto.MaxUnwritten {
			l.out = nil
		}
	}
}

func (l *socketLink) encrypt() {
	if len(l.plain) == 0 {
		return
	}
	if _, err := l.tls.tls.Write(l.plain); err != nil {
		l.closed = true // An earlier error of TLS, which reading has reported.
	}
	if l.plain = l.plain[:0]; cap(l.plain) > 4*proto.MaxUnwritten {
		l.plain = nil
	}
}

// bye sends the closing alert of TLS behind what was sent.
func (l *socketLink) bye() {
	if l.tls != nil {
		l.encrypt()
		_ = l.tls.tls.CloseWrite()
	}
	l.flush()
}

func (l *socketLink) write(fd uintptr) {
	for l.sent < len(l.out) {
		n, err := unix.SendmsgN(int(fd), l.out[l.sent:], nil, nil,
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		switch {
		case err == nil:
			l.sent += n
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return
		default: // Reading reports the end of file.
			l.sent = len(l.out)
		}
	}
}

func (l *socketLink) counters() Counters {
	return Counters{EntriesPublished: l.frames, Sleeps: l.sleeps}
}
