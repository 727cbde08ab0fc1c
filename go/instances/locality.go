package instances

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// A Locality is the host of a server and the folder of its sockets: the kernel's boot id, which is
// the same in all containers of a machine, and the folder's device and inode. Containers share the
// folder if both have it mounted, under the same path.
type Locality struct {
	boot          string
	device, inode uint64
}

// LocalityOf returns the locality of the first of the addresses that is a socket file. Its folder
// must exist.
func LocalityOf(addresses []breezeway.Address) (Locality, error) {
	for _, address := range addresses {
		if !isFile(address) {
			continue
		}
		boot, err := bootID()
		if err != nil {
			return Locality{}, err
		}
		device, inode, err := folder(address.Path)
		return Locality{boot, device, inode}, err
	}
	return Locality{}, fmt.Errorf("breezeway: %q has no place with a socket file: list a shm: or "+
		"unix: place too, or use New for an instance that is reached over the network alone",
		join(addresses))
}

var errNoLocality = errors.New("breezeway: a locality is a boot id, a device and an inode, " +
	"separated by slashes")

// ParseLocality parses the text form of a locality.
func ParseLocality(text string) (Locality, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] == "" {
		return Locality{}, errNoLocality
	}
	device, notDevice := strconv.ParseUint(parts[1], 10, 64)
	inode, notInode := strconv.ParseUint(parts[2], 10, 64)
	if notDevice != nil || notInode != nil {
		return Locality{}, errNoLocality
	}
	return Locality{parts[0], device, inode}, nil
}

// String returns the text form of the locality.
func (l Locality) String() string { return fmt.Sprintf("%s/%d/%d", l.boot, l.device, l.inode) }

// isSeenAt returns true if the folder of this socket is that of the server.
func (l Locality) isSeenAt(socket string) bool {
	boot, err := bootID()
	if err != nil || boot != l.boot {
		return false
	}
	device, inode, err := folder(socket)
	return err == nil && device == l.device && inode == l.inode
}

func folder(socket string) (device, inode uint64, err error) {
	path := filepath.Dir(socket)
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return 0, 0, &fs.PathError{Op: "stat", Path: path, Err: errors.ErrUnsupported}
	}
	return uint64(stat.Dev), stat.Ino, nil
}

// bootID returns the boot id of the machine.
var bootID = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
})
