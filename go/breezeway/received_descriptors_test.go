package breezeway

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

func TestAHelloWithManyDescriptorsIsRefusedAtOnce(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), nil,
		WithHandshakeTimeout(time.Hour))
	where, _ := ParseAddress(address)
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: where.Path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l := &liar{t: t, conn: conn}
	for _, b := range liarHello.Encode()[:3] {
		l.sendFDs(b, 0)
	}
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	hello := make([]byte, proto.HelloLen)
	if _, err := io.ReadFull(conn, hello); err != nil {
		t.Fatalf("no answer: %v", err)
	}
	if status := binary.LittleEndian.Uint32(hello[40:]); status != proto.RefusedViolation {
		t.Fatalf("status %d", status)
	}
}

func TestAnUrgentByteOfAHelloIsReadWithItsDescriptorsLikeAnyOther(t *testing.T) {
	ours, theirs := pair(t)
	_ = ours.SetDeadline(time.Now().Add(10 * time.Second))
	l := &liar{t: t, conn: theirs}
	l.sendUrgently(liarHello.Encode()[0], 0, 0)
	_, fds, err := receiveHello(ours, nil)
	closeAll(fds)
	if refusalOf(err) != proto.RefusedViolation {
		t.Fatalf("the hello gave %v", err)
	}
}

func TestHelloDescriptorWithoutNumberIsShortage(t *testing.T) {
	theirs, ours := pair(t)
	file, err := theirs.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := sendHello(theirs, liarHello.Encode(), int(file.Fd())); err != nil {
		t.Fatal(err)
	}
	// The received descriptor has a number; every other number is taken in between.
	withoutDescriptors(t, func() {
		_, fds, err := receiveHello(ours, nil)
		closeAll(fds)
		if !errors.As(err, new(*ShortageError)) {
			t.Errorf("the hello gave %v", err)
		}
		if refusalOf(err) != proto.RefusedNoMemory {
			t.Errorf("the client is told %d", refusalOf(err))
		}
	})
}

func withoutDescriptors(t *testing.T, do func()) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}()
	do()
}

func TestDescriptorWithoutNumberOverUnixIsViolation(t *testing.T) {
	theirs, ours := pair(t)
	raw, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	link := newSocketLink(Unix, ours, raw, 1<<20, nil)
	file, err := theirs.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, _, err = theirs.WriteMsgUnix([]byte{0}, unix.UnixRights(int(file.Fd())), nil)
	if err != nil {
		t.Fatal(err)
	}
	withoutDescriptors(t, func() {
		if err := link.fill(); !errors.As(err, new(*ViolationError)) {
			t.Errorf("reading gave %v", err)
		}
	})
}
