package breezeway

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAServerThatIsClosedAsItTakesOverLeavesNoFiles(t *testing.T) {
	for range 50 {
		folder := t.TempDir()
		address := "unix:" + filepath.Join(folder, "s")
		begin := func() (*Server, chan error) {
			server, err := Listen(address, func(_ context.Context,
				call *Call) error {
				return call.Echo()
			},
				WithTakeOver(true))
			if err != nil {
				t.Fatal(err)
			}
			return server, make(chan error, 1)
		}
		old, oldServed := begin()
		go func() { oldServed <- old.Serve() }()
		successor, served := begin()
		go func() { served <- successor.Serve() }()
		_ = successor.Close() // Before or after it has announced that it serves.
		if err := soon(t, "the successor's end", served); !errors.Is(err, ErrServerClosed) {
			t.Error(err)
		}
		_ = old.Close()
		soon(t, "the predecessor's end", oldServed)
		left, err := os.ReadDir(folder)
		if err != nil || len(left) > 0 {
			t.Fatalf("%v is left, %v", left, err)
		}
	}
}

func TestASecondAdminSocketIsNoPredecessorsAndNothingStaysOpen(t *testing.T) {
	admin := filepath.Join(t.TempDir(), "admin")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: admin, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	left := make(chan error, 1)
	go func() {
		conn, err := listener.AcceptUnix()
		if err != nil {
			left <- err
			return
		}
		_, err = io.ReadFull(conn, make([]byte, len(ask)))
		for range 2 {
			err = errors.Join(err, sendSocket(conn, adminSocket, "", listener))
		}
		_, _ = conn.Write([]byte{lastSocket, 0, 0}) // The peer may be gone by then.
		_, _ = io.Copy(io.Discard, conn)            // Until it is closed.
		_ = conn.Close()
		left <- err
	}()
	before := openFiles(t)
	server, err := Listen("unix:"+filepath.Join(t.TempDir(), "s"), nil, WithTakeOver(true),
		WithAdminSocket(admin))
	if err == nil {
		_ = server.Close()
	}
	if !errors.As(err, new(*TakeOverError)) {
		t.Errorf("two admin sockets: %v", err)
	}
	if err := soon(t, "the end of asking", left); err != nil {
		t.Error(err)
	}
	// The last copy of a socket is closed in a goroutine, since that may take long: see
	// bound.close.
	eventually(t, "the end of all sockets", func() bool { return openFiles(t) <= before })
}

// openFiles returns the number of this process's descriptors, without pollers: the first wait makes
// one, which stays.
func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	open := 0
	for _, file := range files {
		target, err := os.Readlink("/proc/self/fd/" + file.Name())
		if err == nil && target != "anon_inode:[eventpoll]" {
			open++
		}
	}
	return open
}

func TestAnUrgentByteAtTheAdminSocketIsReadLikeAnyOther(t *testing.T) {
	admin := filepath.Join(t.TempDir(), "admin")
	quietServer(t, "tcp:127.0.0.1:0", nil, WithTakeOver(true), WithAdminSocket(admin))
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: admin, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	(&liar{t: t, conn: conn}).sendUrgently(ask[0])
	if _, err := conn.Write([]byte(ask[1:])); err != nil {
		t.Fatal(err)
	}
	kind, _, socket, err := receiveSocket(conn)
	if err != nil || kind != aSocket {
		t.Fatalf("a socket of kind %d, %v", kind, err)
	}
	_ = socket.Close()
}

func TestAnAdminPathPastTheLimitNamesTheOption(t *testing.T) {
	folder := t.TempDir()
	for _, length := range []int{102, 107} {
		address := "unix:" + folder + "/" + strings.Repeat("x", length-len(folder)-1)
		_, err := Listen(address, nil, WithTakeOver(true))
		if err == nil || !strings.Contains(err.Error(), "option WithAdminSocket") {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}
