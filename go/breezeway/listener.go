package breezeway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A bound is a socket that a server listens on.
type bound struct {
	address Address
	socket  net.Listener
	file    fs.FileInfo // nil unless this server owns a socket file
	kept    bool        // made and kept by a service manager
}

// bind creates a listening socket. It replaces a socket file only if a failed connect proves that
// no server listens there.
func bind(address Address, mode uint32) (*bound, error) {
	if address.isRemote() {
		socket, err := listenTCP(address.Path)
		if err != nil {
			return nil, err
		}
		if address.Path, err = placeOf(address.Path, socket.Addr()); err != nil {
			_ = socket.Close()
			return nil, err
		}
		return &bound{address: address, socket: socket}, nil
	}
	socket, err := listenUnix(address.Path, mode)
	if err != nil {
		return nil, err
	}
	b := &bound{address: address, socket: socket}
	if !isAbstract(address.Path) {
		b.file, err = os.Lstat(address.Path)
	}
	return b, err
}

// placeOf returns wanted with the port of found. The host keeps its spelling, because a successor
// is started with the same text and compares it.
func placeOf(wanted string, found net.Addr) (string, error) {
	host, _, err := net.SplitHostPort(wanted)
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(found.String())
	return net.JoinHostPort(host, port), err
}

// errServed is returned for the path of another server that listens.
var errServed = errors.New("it is served by another process; stop it or choose another path")

// removeStale removes the socket file of a server that has ended.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is not a socket; choose another path", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return errServed
	}
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		if err = os.Remove(path); errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("the socket file %s alone is mounted there, so that no server can "+
				"replace it; mount its folder instead: %w", path, err)
		}
	case errors.Is(err, unix.EAGAIN): // Its backlog is full.
		return errServed
	default:
		err = fmt.Errorf("%s is there and cannot be connected to: %w", path, err)
	}
	if errors.Is(err, fs.ErrNotExist) { // Its server has removed it in between.
		return nil
	}
	return err
}

const (
	// turnTries and turnPause bound the wait for the lock of a socket file's folder.
	turnTries = 100
	turnPause = 2 * time.Millisecond
)

// takeTurn locks the folder of a socket file, as servers in Rust do, until the returned function is
// called. If the lock is not available in time, it continues without it, because any process that
// may read the folder can hold the lock forever.
func takeTurn(path string) (end func()) {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return func() {}
	}
	for range turnTries {
		err = unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		time.Sleep(turnPause)
	}
	return func() { _ = folder.Close() }
}

func isAbstract(path string) bool { return strings.HasPrefix(path, "@") }

// listenUnix listens at a path. The file inherits the socket's mode, less the umask, so that at no
// time more users can connect than the mode allows.
func listenUnix(path string, mode uint32) (net.Listener, error) {
	if isAbstract(path) {
		return net.Listen("unix", path)
	}
	if len(path) > longestPath {
		return nil, fmt.Errorf("the path has %d bytes, and a socket's has %d at most", len(path),
			longestPath)
	}
	defer takeTurn(path)()
	if err := removeStale(path); err != nil {
		return nil, err
	}
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), mode) })
		return errors.Join(err, failed)
	}}
	socket, err := config.Listen(context.Background(), "unix", path)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, errServed
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist; create it, or choose another path: "+
			"%w", filepath.Dir(path), fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	socket.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := os.Chmod(path, fs.FileMode(mode)); err != nil {
		_ = socket.Close()
		_ = os.Remove(path)
		return nil, err
	}
	return socket, nil
}

// longestPath is the longest path of a socket.
const longestPath = len(unix.RawSockaddrUnix{}.Path) - 1

// close stops listening. It first removes the socket file if the server still owns it, since
// another server may replace a file without a listener. It does not wait; closing is done once the
// socket is closed.
func (b *bound) close(closing *sync.WaitGroup) {
	if b.ownsFile() {
		_ = os.Remove(b.address.Path)
	}
	last, err := b.lastCopy()
	_ = b.socket.Close()
	if err == nil && last >= 0 {
		if b.file != nil && !b.kept { // Otherwise others may listen on it.
			_ = unix.Shutdown(last, unix.SHUT_RDWR)
		}
		closing.Add(1)
		go func() {
			defer closing.Done()
			unix.Close(last)
		}()
	}
}

// lastCopy returns a copy of a unix socket, or -1 over TCP. Its close also closes the descriptors
// sent by clients that were not accepted, which may take as long as those clients like.
func (b *bound) lastCopy() (fd int, err error) {
	if b.address.isRemote() {
		return -1, nil
	}
	raw, err := b.socket.(syscall.Conn).SyscallConn()
	if err != nil {
		return -1, err
	}
	var failed error
	err = raw.Control(func(socket uintptr) {
		fd, failed = unix.FcntlInt(socket, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(err, failed)
}

// own takes over the socket file that a predecessor has left to this server.
func (b *bound) own() {
	if !b.address.isRemote() && !b.kept && !isAbstract(b.address.Path) {
		b.file, _ = os.Lstat(b.address.Path) // Without it, no file is removed.
	}
}

// ownsFile returns true if the file at the path is the one that was created. Another server may
// have replaced it.
func (b *bound) ownsFile() bool {
	info, err := os.Lstat(b.address.Path)
	return b.file != nil && err == nil && os.SameFile(b.file, info)
}

// pause waits briefly after a passing error of Accept, and returns false for any other error.
func pause(err error) bool {
	for _, shortage := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM,
		unix.ECONNABORTED} {
		if errors.Is(err, shortage) {
			time.Sleep(shortagePause)
			return true
		}
	}
	return false
}
