package breezeway

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

var policies = map[string]WaitPolicy{"adaptive": Adaptive, "busy": Busy, "park": Park}

// sendPending sends valid segments without announcing them.
func (l *liar) sendPending(count int) {
	for range count {
		mapping, fd, err := segment.Create(4096)
		if err != nil {
			l.t.Error(err)
			return
		}
		l.sendFDs(1, fd)
		unix.Close(fd)
		mapping.Drop()
	}
}

// sendOwnEnd sends a connection's own end with a byte of another one.
func sendOwnEnd(t testing.TB, over *net.UnixConn, b byte, own *net.UnixConn) {
	raw, err := own.SyscallConn()
	if err != nil {
		t.Error(err)
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_, _, err = over.WriteMsgUnix([]byte{b}, unix.UnixRights(int(fd)), nil)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestServersOwnEndSentToAClientEndsItsSession sends a socket over itself: in flight, it keeps the
// connection open, which would otherwise never end.
func TestServersOwnEndSentToAClientEndsItsSession(t *testing.T) {
	for name, policy := range policies {
		for _, pending := range []int{0, 8, proto.MaxPendingSegments} {
			for b := range byte(2) {
				t.Run(fmt.Sprint(name, " ", pending, " ", b), func(t *testing.T) {
					address := lyingServer(t, func(l *liar) {
						for l.control.Load(proto.RingAt) != 1 { // Until it has called.
						}
						l.sendPending(pending)
						sendOwnEnd(t, l.conn, b, l.conn)
						l.close()
					})
					conn, err := Dial(context.Background(), address, WithWaitPolicy(policy))
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
					ended := make(chan error, 1)
					go func() {
						_, err := conn.Call(context.Background(), 0, nil)
						ended <- err
					}()
					if err := soon(t, "the call's end", ended); err == nil {
						t.Error("a reply of a server that is gone")
					}
				})
			}
		}
	}
}

func TestClientsOwnEndSentToAServerEndsItsSession(t *testing.T) {
	for name, policy := range policies {
		for _, pending := range []int{0, 8, proto.MaxPendingSegments} {
			for b := range byte(2) {
				t.Run(fmt.Sprint(name, " ", pending, " ", b), func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "s")
					server, _ := quietServer(t, "shm:"+path, echoCall, WithWaitPolicy(policy))
					before := openFiles(t)
					for range 20 {
						l := newLiar(t, path)
						l.sendPending(pending)
						sendOwnEnd(t, l.conn, b, l.conn)
						l.close()
					}
					endsAll(t, server, before)
				})
			}
		}
	}
}

// endsAll waits until a server has no session, and this process no more descriptors than before.
func endsAll(t *testing.T, server *Server, before int) {
	t.Helper()
	eventually(t, "the end of all sessions", func() bool {
		server.mu.Lock()
		defer server.mu.Unlock()
		return len(server.sessions) == 0 && len(server.pending) == 0 && server.admitted == 0
	})
	eventually(t, "the end of all connections", func() bool { return openFiles(t) <= before })
}

func TestClientsThatSendEachOthersEndsAreEnded(t *testing.T) {
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			server, _ := quietServer(t, "shm:"+path, echoCall, WithWaitPolicy(policy))
			before := openFiles(t)
			for range 20 {
				one, other := newLiar(t, path), newLiar(t, path)
				sendOwnEnd(t, one.conn, 1, other.conn)
				sendOwnEnd(t, other.conn, 1, one.conn)
				one.close()
				other.close()
			}
			endsAll(t, server, before)
		})
	}
}

func TestOwnEndSentAmongFramesEndsTheSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	server, _ := quietServer(t, "unix:"+path, echoCall)
	before := openFiles(t)
	hello := liarHello
	hello.Memory = false
	for range 20 {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		if err := sendHello(conn, hello.Encode(), -1); err != nil {
			t.Fatal(err)
		}
		if _, _, err := receiveHello(conn, nil); err != nil {
			t.Fatal(err)
		}
		sendOwnEnd(t, conn, 0, conn)
		_ = conn.Close()
	}
	endsAll(t, server, before)
}

func TestOwnEndSentWithAHelloEndsTheConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	server, _ := quietServer(t, "shm:"+path, echoCall)
	before := openFiles(t)
	bytes := liarHello.Encode()
	for _, sent := range []int{1, len(bytes)} {
		for range 20 {
			conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			sendOwnEnd(t, conn, bytes[0], conn)
			_, _ = conn.Write(bytes[1:sent])
			_ = conn.Close()
		}
	}
	endsAll(t, server, before)
}

func TestOwnEndSentWhileAHandlerRunsEndsTheSessionBehindIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	began, release := make(chan struct{}), make(chan struct{})
	server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
		began <- struct{}{}
		<-release
		return call.Echo()
	})
	before := openFiles(t)
	l := newLiar(t, path)
	l.publish(proto.Head{Kind: proto.KindMessage, Flags: proto.RequestFlags, Stream: 1}, 0, nil)
	soon(t, "the call", began)
	sendOwnEnd(t, l.conn, 1, l.conn)
	l.close()
	close(release)
	endsAll(t, server, before)
}
