package breezeway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

func TestASessionThatBeginsWhileTheServerDrainsIsSentAway(t *testing.T) {
	draining := make(chan struct{})
	drained := make(chan error, 1)
	var server *Server
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error { return call.Echo() },
		WithAuthorize(func(Peer) error {
			<-draining
			return nil
		}))
	connected := make(chan *Session, 1)
	go func() {
		conn, _ := Dial(context.Background(), address)
		connected <- conn
	}()
	eventually(t, "the handshake", func() bool {
		server.mu.Lock()
		defer server.mu.Unlock()
		return len(server.pending) > 0
	})
	go func() { drained <- server.Shutdown(context.Background()) }()
	eventually(t, "draining", server.isClosed)
	close(draining)
	conn := soon(t, "the handshake's end", connected)
	if conn == nil {
		t.Fatal("no session")
	}
	isAway := func(err error) bool {
		return errors.Is(err, ErrGoingAway) || errors.Is(err, ErrPeerClosed)
	}
	for err := error(nil); !isAway(err); {
		if _, err = conn.Call(contextOf(t), 0, nil); err != nil && !isAway(err) {
			t.Fatalf("a call to a server that drains: %v", err)
		}
	}
	soon(t, "the server's draining", drained)
}

func TestClientSentAwayFromNewSessionRedialsBounded(t *testing.T) {
	server, _ := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error { return call.Echo() })
	server.streams, server.opts.maxStreams = func(context.Context, *Stream) {}, 1
	begins := map[string]func(address string) error{
		"a call": func(address string) error {
			client := NewClient(address)
			defer client.Close()
			_, err := client.Call(contextOf(t), 0, nil)
			return err
		},
		"a connection": func(address string) error {
			dialer := NewNetDialer(address)
			defer dialer.Close()
			_, err := dialer.Dial(contextOf(t))
			return err
		},
	}
	for name, begin := range begins {
		for _, leaving := range []int{1, resends, resends + 1} {
			t.Run(fmt.Sprint(name, " after ", leaving), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "s")
				listener, err := net.Listen("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				defer listener.Close()
				go sendsAway(listener, leaving, server)
				err = begin("unix:" + path)
				if leaving <= resends && err != nil {
					t.Fatal(err)
				}
				if leaving > resends && !errors.Is(err, ErrGoingAway) {
					t.Fatalf("it ended with %v", err)
				}
			})
		}
	}
}

// sendsAway ends leaving sessions with a go-away after the hello, and passes later ones to a
// server.
func sendsAway(listener net.Listener, leaving int, next *Server) {
	for ; ; leaving-- {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if leaving <= 0 {
			if next.enter(conn) == nil {
				go next.serveConn(conn, Unix)
			}
			continue
		}
		defer conn.Close()
		if _, _, err := receiveHello(conn, nil); err != nil {
			return
		}
		own := defaults()
		hello := own.hello(false)
		_, _ = conn.Write(proto.AppendFrame(hello.Encode(), proto.Head{Kind: proto.KindGoAway}, 0))
	}
}

func TestAServerSaysOnceThatItGoesAway(t *testing.T) {
	for _, streams := range []int{0, 8} {
		t.Run(fmt.Sprint(streams, " streams"), func(t *testing.T) { saysOnce(t, streams) })
	}
}

func saysOnce(t *testing.T, streams int) {
	began, end := make(chan struct{}), make(chan struct{})
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error {
			close(began)
			<-end
			return call.Echo()
		})
	conn, err := Dial(contextOf(t), address, WithMaxStreams(streams))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Call(contextOf(t), 0, nil)
		answered <- err
	}()
	soon(t, "the call", began)
	for range 3 {
		for _, session := range server.all() {
			session.goAway()
		}
	}
	close(end)
	// The reply follows them, and a second one would have ended the session.
	if err := soon(t, "the reply", answered); err != nil {
		t.Fatal(err)
	}
	_, err = conn.Call(contextOf(t), 0, nil)
	if !errors.Is(err, ErrGoingAway) || MayHaveRun(err) {
		t.Fatalf("a call to a server that goes away: %v", err)
	}
}

func TestWaitToBeginEndsWithGoAway(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		release := make(chan struct{})
		server := &Server{
			handler: func(_ context.Context, call *Call) error {
				<-release
				return call.Reply(nil)
			},
			streams: func(context.Context, *Stream) { <-release }}
		serveQuietly(t, server, address, WithOffload(100), WithMaxStreams(1))
		conn := dialled(t, address, WithRingCapacity(8))
		most := conn.MaxInFlight()
		called := make(chan error, most+1)
		if _, err := conn.Open(contextOf(t), 0); err != nil {
			t.Fatal(err)
		}
		opened := make(chan error, 1)
		go func() {
			_, err := conn.Open(contextOf(t), 0)
			opened <- err
		}()
		for range most + 1 {
			go func() {
				_, err := conn.Call(contextOf(t), 0, nil)
				called <- err
			}()
		}
		until(t, conn.session, "the wait to begin", func() bool {
			return len(conn.session.callWaiters) == 1 && len(conn.session.openers) == 1
		})
		drained := make(chan error, 1)
		go func() { drained <- server.Shutdown(contextOf(t)) }()
		for what, ended := range map[string]chan error{"call": called, "stream": opened} {
			if err := soon(t, "the end of a "+what, ended); !errors.Is(err, ErrGoingAway) {
				t.Errorf("a %s that waits to begin ends with %v", what, err)
			}
		}
		close(release)
		for range most {
			if err := soon(t, "a reply", called); err != nil {
				t.Error(err)
			}
		}
		_ = conn.Close()
		soon(t, "the server's end", drained)
	})
}
