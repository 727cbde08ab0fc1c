package breezeway

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// clinging returns a descriptor whose last close takes a minute, or until the test ends: a socket
// that lingers, with unread bytes.
func clinging(t *testing.T) int {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096)
		})
		return errors.Join(err, failed)
	}}
	listener, err := config.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().(*net.TCPAddr)
	to := &unix.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}
	err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4096),
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1,
			Linger: 60}), unix.Connect(fd, to))
	if err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	for err == nil {
		_, err = unix.SendmsgN(fd, make([]byte, 64<<10), nil, nil, unix.MSG_DONTWAIT)
	}
	return fd
}

// sent sends descriptors beside a byte. The receiver then has their last copies.
func sent(t *testing.T, conn *net.UnixConn, bytes []byte, fds ...int) {
	t.Helper()
	if _, _, err := conn.WriteMsgUnix(bytes, unix.UnixRights(fds...), nil); err != nil {
		t.Error(err)
	}
	unix.Close(fds[len(fds)-1])
}

// many returns as many descriptors as one message takes, with the given one last.
func many(last int) []int {
	fds := make([]int, 253)
	for i := range fds {
		fds[i] = int(os.Stdin.Fd())
	}
	fds[len(fds)-1] = last
	return fds
}

// clings are ways to send a session descriptors that are slow to close.
var clings = map[string]func(t *testing.T, conn *net.UnixConn){
	"with a byte": func(t *testing.T, conn *net.UnixConn) { sent(t, conn, []byte{0}, clinging(t)) },
	"in place of a segment": func(t *testing.T, conn *net.UnixConn) {
		sent(t, conn, []byte{1}, clinging(t))
	},
	"as the last of many": func(t *testing.T, conn *net.UnixConn) {
		sent(t, conn, []byte{0}, many(clinging(t))...)
	},
	"behind what ends the session": func(t *testing.T, conn *net.UnixConn) {
		_, _ = conn.Write(aFrame(77, 0, 0, nil))
		sent(t, conn, []byte{0}, clinging(t))
	},
}

// returns fails the test if a function does not return.
func returns(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		do()
		close(done)
	}()
	soon(t, what, done)
}

func TestSlowCloseDescriptorOfClientDelaysNoServer(t *testing.T) {
	for _, carrier := range []string{"shm", "unix"} {
		for name, send := range clings {
			t.Run(carrier+" "+name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "s")
				server, _ := quietServer(t, carrier+":"+path, echoCall)
				var conn *net.UnixConn
				if carrier == "shm" {
					l := newLiar(t, path)
					defer l.close()
					conn = l.conn
				} else {
					conn = dialByHand(t, "unix:"+path, smallHello()).conn.(*net.UnixConn)
				}
				session := sessionOf(t, server)
				session.mu.Lock() // It reads nothing in between.
				send(t, conn)
				session.mu.Unlock()
				over := make(chan struct{})
				go func() {
					for !session.over.Load() {
						time.Sleep(time.Millisecond)
					}
					close(over)
				}()
				soon(t, "the session's end", over)
				returns(t, "Statistics", func() { Statistics() })
				returns(t, "Shutdown", func() { _ = server.Shutdown(contextOf(t)) })
			})
		}
	}
}

func TestSlowCloseDescriptorOfServerDelaysNoCaller(t *testing.T) {
	for name, send := range clings {
		t.Run(name, func(t *testing.T) {
			come, end := make(chan *liar, 1), make(chan struct{})
			conn, err := Dial(contextOf(t), lyingServer(t, func(l *liar) {
				come <- l
				<-end
				l.close()
			}))
			if err != nil {
				t.Fatal(err)
			}
			defer close(end)
			l := <-come
			conn.session.mu.Lock()
			send(t, l.conn)
			conn.session.mu.Unlock()
			returns(t, "the calls", func() {
				for range 2 {
					if _, err := conn.Call(contextOf(t), 0, nil); err == nil {
						t.Error("a reply")
					}
				}
			})
			returns(t, "Close", func() { _ = conn.Close() })
		})
	}
}

func TestSlowCloseDescriptorOfHelloDelaysNoClient(t *testing.T) {
	for name, many := range map[string]func(int) []int{"one": func(fd int) []int {
		return []int{fd}
	}, "many": many} {
		t.Run(name, func(t *testing.T) {
			may := make(chan struct{})
			path := filepath.Join(t.TempDir(), "s")
			server, _ := quietServer(t, "shm:"+path, echoCall, WithAuthorize(func(Peer) error {
				<-may
				return nil
			}), WithHandshakeTimeout(time.Minute))
			conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			sent(t, conn, liarHello.Encode(), many(clinging(t))...)
			close(may)
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.ReadFull(conn, make([]byte, proto.HelloLen)); err != nil {
				t.Errorf("no answer: %v", err)
			}
			returns(t, "Shutdown", func() { _ = server.Shutdown(contextOf(t)) })
		})
	}
}

func TestSlowCloseDescriptorOfServerHelloDelaysNoDial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	slow := clinging(t)
	go func() {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		_, fds, _ := receiveHello(conn, nil)
		closeAll(fds)
		hello := liarHello.Encode()
		sent(t, conn, hello[:len(hello)-1], slow)
		_, _ = conn.Write(hello[len(hello)-1:])
	}()
	returns(t, "Dial", func() {
		if _, err := Dial(contextOf(t), "shm:"+path); err == nil {
			t.Error("a session")
		}
	})
}

func TestSlowCloseOfRefusedClientDelaysNoServerEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	server, address := quietServer(t, "shm:"+path, echoCall, WithMaxSessions(1))
	first, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	sessionOf(t, server)
	server.mu.Lock() // The next client sends before it is refused.
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent(t, conn, []byte{0}, clinging(t))
	server.mu.Unlock()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(conn, make([]byte, proto.HelloLen)); err != nil {
		t.Errorf("no answer: %v", err)
	}
	_ = first.Close()
	returns(t, "Shutdown", func() { _ = server.Shutdown(contextOf(t)) })
}

func TestSlowCloseOfUnacceptedClientDelaysNoServerEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	server, err := Listen("shm:"+path, echoCall)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent(t, conn, []byte{0}, clinging(t))
	other := path + ".other"
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	returns(t, "Close", func() { _ = server.Close() })
	if _, err := net.Dial("unix", other); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("connecting afterwards gave %v", err)
	}
}

func TestSlowCloseOfRefusedClientsKeepsNoOtherOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	server, address := quietServer(t, "shm:"+path, echoCall, WithMaxSessions(1))
	first, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	sessionOf(t, server)
	tooMany := func(send func(conn *net.UnixConn)) net.Conn {
		server.mu.Lock() // The client sends before it is refused.
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		send(conn)
		server.mu.Unlock()
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadFull(conn, make([]byte, proto.HelloLen)); err != nil {
			t.Fatalf("no answer: %v", err)
		}
		return conn
	}
	for range 65 {
		conn := tooMany(func(conn *net.UnixConn) { sent(t, conn, []byte{0}, clinging(t)) })
		defer conn.Close()
	}
	before := openFiles(t)
	for number := range 100 {
		_ = tooMany(func(conn *net.UnixConn) {
			if number%2 == 0 {
				return
			}
			own, fd, err := shm.Control(&liarHello, segment.Account{})
			if err != nil {
				t.Fatal(err)
			}
			defer own.Drop()
			if err := sendHello(conn, liarHello.Encode(), fd); err != nil {
				t.Error(err)
			}
			unix.Close(fd)
		}).Close()
	}
	eventually(t, "the end of who was refused", func() bool { return openFiles(t) <= before })
}
