package breezeway

import (
	"crypto/x509"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Peer is the process on the other side, as the kernel saw it when it connected or listened
// (SO_PEERCRED). It is for policy; a process id is no identity.
type Peer struct {
	// Known says whether the kernel has said who it is, which it does not over TCP, and not of a
	// user outside of this user namespace.
	Known         bool
	UID, GID, PID uint32
	// Identity is the certificate that was verified, over tls:, else nil.
	Identity *x509.Certificate
}

// IsSameUser says whether it is known to be of this process's effective user.
func (p Peer) IsSameUser() bool { return p.Known && int(p.UID) == os.Geteuid() }

func peerOf(raw syscall.RawConn) (Peer, error) {
	var credentials *unix.Ucred
	var failed error
	err := raw.Control(func(fd uintptr) {
		credentials, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return Peer{}, err
	}
	known := credentials.Pid > 0 && credentials.Uid != overflowUID()
	return Peer{Known: known, UID: credentials.Uid, GID: credentials.Gid,
		PID: uint32(credentials.Pid)}, nil
}

// overflowUID is what the kernel says for users that it cannot name here.
var overflowUID = sync.OnceValue(readOverflowUID)

func readOverflowUID() uint32 {
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err == nil {
		if uid, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32); err == nil {
			return uint32(uid)
		}
	}
	return 65534
}
