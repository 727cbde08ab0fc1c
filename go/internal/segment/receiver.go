package segment

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// MaxRights is the most descriptors that a message brings (SCM_MAX_FD).
const MaxRights = 253

// A Receiver makes recvmsg calls into buffers of its own, so that none of them allocates, as
// unix.Recvmsg does.
type Receiver struct {
	header  unix.Msghdr
	vector  unix.Iovec
	control []byte
}

// NewReceiver has room for so many descriptors.
func NewReceiver(descriptors int) Receiver {
	return Receiver{control: make([]byte, unix.CmsgSpace(4*descriptors))}
}

// Receive reads bytes, and the control message beside them, which is valid until the next call.
func (r *Receiver) Receive(fd int, to []byte, flags int) (n int, control []byte, received int,
	err error) {
	r.vector = unix.Iovec{Base: unsafe.SliceData(to)}
	r.vector.SetLen(len(to))
	r.header = unix.Msghdr{Iov: &r.vector, Control: &r.control[0]}
	r.header.SetIovlen(1)
	r.header.SetControllen(len(r.control))
	// The kernel writes at most as many bytes as the lengths beside the pointers say; all of it is
	// memory that r and to keep alive past the call.
	got, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.header)),
		uintptr(flags))
	r.vector.Base = nil
	if errno != 0 {
		return 0, nil, 0, errno
	}
	return int(got), r.control[:r.header.Controllen], int(r.header.Flags), nil
}

// Rights gives the descriptors of a control message.
func Rights(control []byte) (descriptors []int) {
	if len(control) == 0 {
		return nil
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			descriptors = append(descriptors, fds...)
		}
	}
	return descriptors
}
