package shm

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

const (
	doorbellByte = 0
	segmentByte  = 1
	// sendBuffer is the size of a session socket's send buffer. 64 doorbell bytes that the peer may
	// leave unread, and 64 segments, take less than 800 bytes each.
	sendBuffer = 160 * 1024
	// readSize is more than the number of one-byte messages that the peer's socket holds: a peek
	// that ends just before a descriptor would also return that descriptor (as on Linux 6.18).
	readSize = 512
	// maxReads bounds the reads for one segment.
	maxReads = 128
	// maxPeeked bounds the bytes that were peeked at and not consumed.
	maxPeeked = 64
	// mostReceived is the number of descriptors to receive with a message, which has one if the
	// peer keeps the rules. Others stay in the socket.
	mostReceived = 2
)

// A doorbell is this side's end of the session socket.
//
// A descriptor that arrives while the process is at its limit of open files is lost when it is
// read. Therefore reads only peek, from where the last one ended (SO_PEEK_OFF), and the bytes are
// consumed later, many at once. A sleeper still makes one system call.
type doorbell struct {
	raw       syscall.RawConn
	ringFn    func(fd uintptr)
	readFn    func(fd uintptr)
	consumeFn func(fd uintptr)
	pending   []pendingSegment
	// pendingBytes is the sum of the pending sizes, at most twice segmentCap.
	pendingBytes, segmentCap uint64
	// refused holds descriptors that are not allowed. Closing them may take as long as the peer
	// likes, so the session's owner closes them, without the lock.
	refused []int
	peeked  int
	canPeek bool
	closed  bool
	exited  bool // the peer's process has exited, even if another one has its socket
	// readErr and more are the results of the last read.
	readErr  error
	more     bool
	bytes    [readSize]byte
	receiver segment.Receiver
}

// A pendingSegment is a segment that was received but not announced.
type pendingSegment struct {
	fd   int
	size uint64
}

// errNoNumber is returned by a read that cannot receive a descriptor now.
var errNoNumber = &segment.ShortageError{
	Text: "no file descriptor is left for the peer's next segment (raise the limit of open " +
		"files, ulimit -n)",
	Err: unix.EMFILE,
}

func newDoorbell(raw syscall.RawConn, segmentCap uint64) (*doorbell, error) {
	d := &doorbell{raw: raw, segmentCap: segmentCap, receiver: segment.NewReceiver(mostReceived)}
	d.ringFn = func(fd uintptr) {
		// EAGAIN means that bytes are pending. The end of file reports a peer that is gone.
		_, _ = unix.SendmsgN(int(fd), doorbellBytes, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	}
	d.readFn, d.consumeFn = d.read, d.consume
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
		d.canPeek = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEEK_OFF, 0) == nil
	})
	return d, errors.Join(err, failed)
}

var doorbellBytes = []byte{doorbellByte}

// ring wakes a peer that has announced its sleep.
func (d *doorbell) ring() { _ = d.raw.Control(d.ringFn) }

// sendSegment sends a payload segment's descriptor to the peer.
func (d *doorbell) sendSegment(segmentFD int) error {
	var err error
	rights := unix.UnixRights(segmentFD)
	control := d.raw.Control(func(fd uintptr) {
		err = unix.Sendmsg(int(fd), []byte{segmentByte}, rights, nil,
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	})
	switch {
	case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET):
		return nil // Reading reports the end of file.
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ETOOMANYREFS):
		text := fmt.Sprintf("the peer leaves the session socket unread: %v", err)
		return &segment.ShortageError{Text: text, Err: err}
	}
	return errors.Join(err, control)
}

// drain reads what has arrived: it drops doorbells, keeps descriptors, and records the end of file.
func (d *doorbell) drain() error {
	for range maxReads {
		if d.closed {
			break
		}
		if err := d.readOnce(); err != nil || !d.more {
			return err
		}
	}
	return nil
}

// empty leaves nothing in the socket, so that the peer has room for its doorbells.
func (d *doorbell) empty() error {
	err := d.drain()
	if d.peeked > 0 {
		_ = d.raw.Control(d.consumeFn)
	}
	return err
}

// readOnce performs one recvmsg. It sets more if there was input.
func (d *doorbell) readOnce() error {
	d.more, d.readErr = false, nil
	if err := d.raw.Control(d.readFn); err != nil {
		d.closed = true
		return nil
	}
	return d.readErr
}

func (d *doorbell) read(fd uintptr) {
	const flags = unix.MSG_DONTWAIT | unix.MSG_CMSG_CLOEXEC | unix.MSG_PEEK
	n, control, received, err := d.receiver.Receive(int(fd), d.bytes[:], flags)
	switch {
	case errors.Is(err, unix.EAGAIN):
		d.closed = d.closed || d.exited
		return
	case errors.Is(err, unix.EINTR):
		d.more = true
		return
	case err != nil || n == 0:
		d.closed = true
		return
	}
	descriptors := segment.Rights(control)
	if received&unix.MSG_CTRUNC != 0 && len(descriptors) == 0 {
		if d.canPeek {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEEK_OFF, d.peeked)
		}
		d.readErr = errNoNumber
		return
	}
	d.more = true
	// Refused bytes stay in the socket: consuming them would close, here, the descriptors that were
	// not received.
	isCut := received&unix.MSG_CTRUNC != 0
	if d.readErr = d.judge(d.bytes[:n], descriptors, isCut); d.readErr != nil {
		return
	}
	d.peeked += n
	if len(descriptors) > 0 || !d.canPeek || d.peeked >= maxPeeked {
		d.consume(fd)
	}
}

// consume removes the peeked bytes from the socket.
func (d *doorbell) consume(fd uintptr) {
	var bytes [256]byte
	for d.peeked > 0 {
		n, err := unix.Read(int(fd), bytes[:min(d.peeked, len(bytes))])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			d.peeked = 0
			return
		}
		d.peeked -= n
	}
}

// judge validates what a read returned. A read ends with a byte that carries descriptors, so only
// its last byte can be a segment. isCut is true if descriptors did not fit within the limit on open
// files.
func (d *doorbell) judge(bytes []byte, descriptors []int, isCut bool) error {
	last := len(bytes) - 1
	wanted := 0
	if bytes[last] == segmentByte {
		wanted = 1
	}
	for i, b := range bytes {
		if b != doorbellByte && (i != last || b != segmentByte) {
			return d.refuse(descriptors, fmt.Errorf("byte %#02x on the session socket", b))
		}
	}
	if isCut || len(descriptors) != wanted {
		return d.refuse(descriptors,
			errors.New("unexpected file descriptors on the session socket"))
	}
	if wanted == 0 {
		return nil
	}
	return d.refuse(descriptors, d.keep(descriptors[0]))
}

// refuse schedules descriptors to be closed if there is an error.
func (d *doorbell) refuse(descriptors []int, err error) error {
	if err != nil {
		d.refused = append(d.refused, descriptors...)
	}
	return err
}

// keep stores a segment until it is announced.
func (d *doorbell) keep(fd int) error {
	size, err := segment.Accept(fd)
	if err != nil {
		return err
	}
	if size > d.segmentCap {
		return fmt.Errorf("a segment of %d bytes is above the agreed cap of %d", size, d.segmentCap)
	}
	if len(d.pending) == proto.MaxPendingSegments || d.pendingBytes+size > 2*d.segmentCap {
		return fmt.Errorf("%d segments of %d bytes are pending; at most %d, of %d bytes, may be",
			len(d.pending)+1, d.pendingBytes+size, proto.MaxPendingSegments, 2*d.segmentCap)
	}
	d.pending = append(d.pending, pendingSegment{fd, size})
	d.pendingBytes += size
	return nil
}

// nextSegment returns the descriptor of the next segment in order, and reads the socket for it if
// needed.
func (d *doorbell) nextSegment() (int, error) {
	for range maxReads {
		if len(d.pending) > 0 {
			return d.pending[0].fd, nil
		}
		if err := d.readOnce(); err != nil {
			return -1, err
		}
		if !d.more {
			break
		}
	}
	if len(d.pending) > 0 {
		return d.pending[0].fd, nil
	}
	return -1, errors.New("a segment was announced, but its file descriptor was not sent before")
}

// segmentTaken closes the descriptor of the last nextSegment, which was mapped.
func (d *doorbell) segmentTaken() {
	unix.Close(d.pending[0].fd)
	d.pendingBytes -= d.pending[0].size
	d.pending = slices.Delete(d.pending, 0, 1)
}

func (d *doorbell) close() {
	for _, one := range d.pending {
		unix.Close(one.fd)
	}
	d.pending = nil
}
