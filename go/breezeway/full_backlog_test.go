package breezeway

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fullServer returns a server that does not serve yet and has a full backlog.
func fullServer(t *testing.T, scheme string) (*Server, string) {
	address := scheme + ":" + filepath.Join(t.TempDir(), "s")
	server, err := Listen(address, echoCall)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	raw, err := server.bound[0].socket.(syscall.Conn).SyscallConn()
	if err == nil {
		err = errors.Join(raw.Control(func(fd uintptr) { err = unix.Listen(int(fd), 0) }), err)
	}
	for err == nil {
		var conn net.Conn
		if conn, err = net.Dial("unix", server.bound[0].address.Path); err == nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	return server, address
}

func TestDialFullBacklogFailsAtTheConnectTimeout(t *testing.T) {
	for _, scheme := range []string{"shm", "unix"} {
		_, address := fullServer(t, scheme)
		const timeout = 300 * time.Millisecond
		began := time.Now()
		_, err := Dial(context.Background(), address, WithHandshakeTimeout(timeout))
		waited := time.Since(began)
		if !errors.Is(err, os.ErrDeadlineExceeded) || waited < timeout {
			t.Errorf("%s: %v after %v", scheme, err, waited)
		}
	}
}

func TestDialFullBacklogEndsWithItsContext(t *testing.T) {
	_, address := fullServer(t, "unix")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := Dial(ctx, address, WithHandshakeTimeout(time.Hour))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("past the deadline Dial gave %v", err)
	}
}

func TestDialFullBacklogConnectsOnceServed(t *testing.T) {
	for _, scheme := range []string{"shm", "unix"} {
		server, address := fullServer(t, scheme)
		dialled := make(chan error, 1)
		go func() {
			conn, err := Dial(context.Background(), address, WithHandshakeTimeout(20*time.Second))
			if err == nil {
				var reply Message
				if reply, err = conn.Call(context.Background(), 0, nil); err == nil {
					reply.Release()
				}
				_ = conn.Close()
			}
			dialled <- err
		}()
		select {
		case err := <-dialled:
			t.Fatalf("%s: %v while the backlog is full", scheme, err)
		case <-time.After(50 * time.Millisecond):
		}
		go func() { _ = server.Serve() }()
		if err := <-dialled; err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

func TestSuccessorFullAdminBacklogIsWaitedFor(t *testing.T) {
	server, _ := fullServer(t, "unix")
	asked := make(chan error, 1)
	go func() {
		_, err := (&succession{path: server.bound[0].address.Path}).ask()
		asked <- err
	}()
	select {
	case err := <-asked:
		t.Fatalf("%v while the backlog is full", err)
	case <-time.After(50 * time.Millisecond):
	}
	_ = server.Close()
	if err := <-asked; errors.Is(err, unix.EAGAIN) {
		t.Error(err)
	}
}
