package breezeway

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bound is a socket that a server listens on.
type bound struct {
	address Address
	socket  net.Listener
	file    fs.FileInfo // nil without a socket file of this server's
	kept    bool        // by a service manager, which made it
}

// bind makes a listening socket. A socket file is taken over only if a failed connect proves that
// nobody serves it.
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
	if err := removeStale(address.Path); err != nil {
		return nil, err
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

// placeOf is what was asked for with the port that was found. The host stays as it was written: a
// successor is started with the same text, and looks for what it names.
func placeOf(wanted string, found net.Addr) (string, error) {
	host, _, err := net.SplitHostPort(wanted)
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(found.String())
	return net.JoinHostPort(host, port), err
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || isAbstract(path) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is no socket; choose another path", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("%s is served by another process; stop it or choose another path", path)
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("%s is there and cannot be connected to: %w", path, err)
	}
	return os.Remove(path)
}

func isAbstract(path string) bool { return strings.HasPrefix(path, "@") }

// listenUnix binds under another name, and renames the socket once its mode is set: nobody whom the
// mode keeps out can connect in between.
func listenUnix(path string, mode uint32) (net.Listener, error) {
	if isAbstract(path) {
		return net.Listen("unix", path)
	}
	if len(path) > longestPath {
		return nil, fmt.Errorf("the path has %d bytes, and a socket's has %d at most", len(path),
			longestPath)
	}
	// Of processes in containers that share a folder, several may have one number.
	staging := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%x.new", rand.Uint64()))
	socket, err := listenAt(staging)
	if err != nil {
		return nil, err
	}
	socket.SetUnlinkOnClose(false)
	err = os.Chmod(staging, fs.FileMode(mode))
	if err == nil {
		err = os.Rename(staging, path)
	}
	if err != nil {
		_ = socket.Close()
		_ = os.Remove(staging)
		return nil, err
	}
	return socket, nil
}

// longestPath is the longest path of a socket.
const longestPath = len(unix.RawSockaddrUnix{}.Path) - 1

// listenAt listens at a path, by way of its folder if it is too long.
func listenAt(path string) (*net.UnixListener, error) {
	if len(path) <= longestPath {
		return net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	path = fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path))
	return net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
}

// close ends listening, and removes the socket file if it is still the server's own. It waits for
// nothing; once the socket is closed, it is done.
func (b *bound) close(closing *sync.WaitGroup) {
	own := b.ownsFile()
	last, err := b.lastCopy()
	_ = b.socket.Close()
	if err == nil && last >= 0 {
		if b.file != nil && !b.kept { // Else others may listen on it.
			_ = unix.Shutdown(last, unix.SHUT_RDWR)
		}
		closing.Add(1)
		go func() {
			defer closing.Done()
			unix.Close(last)
		}()
	}
	if own {
		_ = os.Remove(b.address.Path)
	}
}

// lastCopy is a copy of a socket whose close may take as long as those like who have connected and
// were not accepted: what they have sent is closed with it. It is -1 over TCP, which brings no
// descriptors.
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

// own takes over the file of a socket that a predecessor has left to this server.
func (b *bound) own() {
	if !b.address.isRemote() && !b.kept && !isAbstract(b.address.Path) {
		b.file, _ = os.Lstat(b.address.Path) // Without it, nothing is removed.
	}
}

// ownsFile says whether the file at the path is the one that was made: another server may have
// taken the path over.
func (b *bound) ownsFile() bool {
	info, err := os.Lstat(b.address.Path)
	return b.file != nil && err == nil && os.SameFile(b.file, info)
}

// pause waits a little after a shortage of descriptors or memory, in which accepting goes on.
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
