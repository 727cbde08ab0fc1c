package breezeway

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// stoppedServer returns the address of a server that sends its hello and reads nothing.
func stoppedServer(t *testing.T) (address string) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		_ = listener.Close()
	})
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, _, err := receiveHello(conn, nil); err != nil {
			return
		}
		hello := smallHello()
		hello.RingCapacity, hello.StreamMessages, hello.StreamBytes = 64, 1000, 64<<20
		_, _ = conn.Write(hello.Encode())
		<-stop
	}()
	return "unix:" + path
}

func TestConnToStoppedServerClosesAtOnceWithItsWaiters(t *testing.T) {
	stopped := map[string]func(t *testing.T) string{
		"unix": stoppedServer,
		"shm": func(t *testing.T) string {
			stop := make(chan struct{})
			t.Cleanup(func() { close(stop) })
			return lyingServer(t, func(*liar) { <-stop })
		},
	}
	for carrier, serve := range stopped {
		t.Run(carrier, func(t *testing.T) { closesAtOnce(t, serve(t)) })
	}
}

func closesAtOnce(t *testing.T, address string) {
	dialer := NewNetDialer(address)
	defer dialer.Close()
	conn, err := dialer.Dial(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	session := conn.(*streamConn).stream.session
	wrote, read := make(chan error, 1), make(chan error, 1)
	go func() {
		for {
			if _, err := conn.Write(make([]byte, 64<<10)); err != nil {
				wrote <- err
				return
			}
		}
	}()
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	writes := conn.(*streamConn)
	until(t, session, "the peer's window or its socket is full", func() bool {
		return len(session.roomWaiters) > 0 || len(writes.stream.writers) > 0
	})
	closed := make(chan error, 1)
	go func() { closed <- conn.Close() }()
	if err := soon(t, "Close", closed); err != nil {
		t.Error(err)
	}
	if err := soon(t, "the Read's end", read); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the Read ended with %v", err)
	}
	if err := soon(t, "the Write's end", wrote); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the Write ended with %v", err)
	}
}

func TestConnWriteToClosedPeerIsNotEndOfFile(t *testing.T) {
	listener, err := ListenNet("unix:"+filepath.Join(t.TempDir(), "s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Shutdown(contextOf(t))
	dialer := NewNetDialer(listener.Addr().(Address).String())
	defer dialer.Close()
	conn, err := dialer.Dial(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = accepted.Close()
	for err == nil { // The first write leaves before the peer resets the stream.
		_, err = conn.Write([]byte("nobody reads"))
	}
	if !errors.Is(err, syscall.EPIPE) {
		t.Fatalf("the Write ended with %v", err)
	}
}

func TestConnIsActiveReturnsBesideEndlessMessages(t *testing.T) {
	_, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), nil)
	conn, err := Dial(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := conn.session
	const sent = 3 * catchUpTurns * entriesPerTurn
	s.mu.Lock()
	for range sent {
		s.socket.in = proto.AppendFrame(s.socket.in, crossedReset, 0)
	}
	s.mu.Unlock()
	for asked := 1; ; asked++ {
		s.catchUp()
		s.mu.Lock()
		left := (len(s.socket.in) - s.socket.from) / proto.FrameLen
		s.mu.Unlock()
		if left == 0 && asked > 1 {
			return
		}
		if want := sent - asked*catchUpTurns*entriesPerTurn; left != want {
			t.Fatalf("of %d messages %d are left after %d turns", sent, left, asked)
		}
	}
}
