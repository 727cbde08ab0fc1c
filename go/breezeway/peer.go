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

// A Peer holds the credentials of the process at the other end of a session, as the kernel recorded
// them when it connected or listened (SO_PEERCRED). Use it for policy; a process id does not
// identify a process.
type Peer struct {
	// Known is true if the kernel has supplied the ids. It does not over TCP, nor for a user
	// outside of this user namespace.
	Known         bool
	UID, GID, PID uint32
	// Identity is the verified certificate over tls:, else nil.
	Identity *x509.Certificate
}

// IsSameUser returns true if the peer is known to run as this process's effective user.
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

// overflowUID returns the user id that the kernel substitutes for users outside of this user
// namespace.
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
