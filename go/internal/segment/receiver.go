package segment

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// MaxRights is the maximum number of descriptors in a message (SCM_MAX_FD).
const MaxRights = 253

// A Receiver calls recvmsg with buffers of its own. Unlike unix.Recvmsg, it does not allocate.
type Receiver struct {
	header  unix.Msghdr
	vector  unix.Iovec
	control []byte
}

// NewReceiver returns a receiver with room for the given number of descriptors.
func NewReceiver(descriptors int) Receiver {
	return Receiver{control: make([]byte, unix.CmsgSpace(4*descriptors))}
}

// Receive reads bytes and the control message beside them, which is valid until the next call.
func (r *Receiver) Receive(fd int, to []byte, flags int) (n int, control []byte, received int,
	err error) {
	r.vector = unix.Iovec{Base: unsafe.SliceData(to)}
	r.vector.SetLen(len(to))
	r.header = unix.Msghdr{Iov: &r.vector, Control: &r.control[0]}
	r.header.SetIovlen(1)
	r.header.SetControllen(len(r.control))
	// The kernel writes at most the lengths beside the pointers. All of it is memory that r and to
	// keep alive past the call.
	got, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.header)),
		uintptr(flags))
	r.vector.Base = nil
	if errno != 0 {
		return 0, nil, 0, errno
	}
	return int(got), r.control[:r.header.Controllen], int(r.header.Flags), nil
}

// Rights returns the descriptors in a control message.
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
