package breezeway_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func netListener(t *testing.T, carrier string) *breezeway.NetListener {
	listener, err := breezeway.ListenNet(addressOf(t, carrier), nil, serves()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(listener) })
	return listener
}

// end closes a listener with all its connections.
func end(listener *breezeway.NetListener) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = listener.Shutdown(over)
}

func TestHTTPRunsOverStreams(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		listener := netListener(t, carrier)
		server := &http.Server{Handler: http.HandlerFunc(func(
			w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body) // HTTP/1 reads all of a request before it replies.
			if err == nil {
				_, _ = w.Write(body)
			}
		})}
		go func() { _ = server.Serve(listener) }()
		session := dial(t, listener.Addr().String())
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return session.DialNet(ctx)
			},
		}}
		for _, size := range []int{0, 10, 100_000, 5 << 20} {
			sent := pattern(size, 9)
			response, err := client.Post("http://breezeway/", "", bytes.NewReader(sent))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			if err != nil || !bytes.Equal(got, sent) {
				t.Fatalf("%d bytes came back as %d, %v", size, len(got), err)
			}
			_ = response.Body.Close()
		}
	})
}

func TestAConnectionKeepsToItsDeadlinesAndHalfCloses(t *testing.T) {
	listener := netListener(t, "shm")
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		everything, _ := io.ReadAll(conn)
		_, _ = conn.Write(everything)
		_ = conn.Close()
	}()
	conn, err := dial(t, listener.Addr().String()).DialNet(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a deadline that passed: %v", err)
	}
	_ = conn.SetReadDeadline(time.Time{})
	time.AfterFunc(10*time.Millisecond, func() { _ = conn.SetReadDeadline(time.Now()) })
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a deadline that was moved while it is waited for: %v", err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	sent := pattern(300_000, 1)
	if _, err := conn.Write(sent); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d bytes came back as %d, %v", len(sent), len(got), err)
	}
	_ = conn.Close()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("a read after Close: %v", err)
	}
}

// accepted returns a channel of the connections that a listener accepts.
func accepted(listener *breezeway.NetListener) <-chan net.Conn {
	conns := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns <- conn
		}
	}()
	return conns
}

// carries sends a few bytes.
func carries(t *testing.T, from, to net.Conn) {
	t.Helper()
	if _, err := from.Write([]byte("over")); err != nil {
		t.Fatal(err)
	}
	_ = to.SetReadDeadline(time.Now().Add(time.Minute))
	got := make([]byte, 4)
	if _, err := io.ReadFull(to, got); err != nil || string(got) != "over" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestAConnectionTooManyLeavesTheOthersOpen(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		listener, err := breezeway.ListenNet(addressOf(t, carrier), nil,
			serves(breezeway.WithMaxStreams(1))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { end(listener) })
		conns := accepted(listener)
		dialer := breezeway.NewNetDialer(listener.Addr().String(), dials()...)
		defer dialer.Close()
		first, err := dialer.Dial(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		there := <-conns
		_, err = dialer.Dial(within(t, 20*time.Millisecond))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("one too many: %v", err)
		}
		carries(t, first, there)
		carries(t, there, first)
		waiting := make(chan error, 1)
		go func() {
			second, err := dialer.Dial(within(t, time.Minute))
			if err == nil {
				err = second.Close()
			}
			waiting <- err
		}()
		_ = there.Close()
		_ = first.Close()
		if err := <-waiting; err != nil {
			t.Fatalf("once there is room: %v", err)
		}
	})
}

// relisten listens at the address of a closed listener.
func relisten(t *testing.T, address string) (*breezeway.NetListener, <-chan net.Conn) {
	t.Helper()
	listener, err := breezeway.ListenNet(address, nil, serves()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(listener) })
	return listener, accepted(listener)
}

// becomesInactive waits until a connection is no longer active.
func becomesInactive(t *testing.T, conn net.Conn) {
	t.Helper()
	active := conn.(interface{ IsActive() bool })
	for end := time.Now().Add(20 * time.Second); active.IsActive(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a connection whose server has closed stays active")
		}
	}
}

func TestADialerDialsAgainOnceItsSessionIsOver(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		listener := netListener(t, carrier)
		address := listener.Addr().String()
		dialer := breezeway.NewNetDialer(address, dials()...)
		defer dialer.Close()
		conns := accepted(listener)
		old, err := dialer.Dial(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		<-conns
		if !old.(interface{ IsActive() bool }).IsActive() {
			t.Fatal("an open connection is not active")
		}
		end(listener)
		becomesInactive(t, old)
		_, conns = relisten(t, address)
		conn, err := dialer.Dial(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		carries(t, conn, <-conns)
	})
}

func TestClosedListenerKeepsConnsAndEndsSessionWithLast(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		ended := make(chan error, 1)
		listener, err := breezeway.ListenNet(addressOf(t, carrier), nil,
			serves(breezeway.WithOnSessionEnd(func(_ breezeway.Peer,
				err error) {
				ended <- err
			}))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { end(listener) })
		conns := accepted(listener)
		dialer := breezeway.NewNetDialer(listener.Addr().String(), dials()...)
		defer dialer.Close()
		ctx := within(t, time.Minute)
		var here, there []net.Conn
		for range 2 {
			conn, err := dialer.Dial(ctx)
			if err != nil {
				t.Fatal(err)
			}
			here, there = append(here, conn), append(there, <-conns)
		}
		_ = listener.Close()
		if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a closed listener accepts: %v", err)
		}
		_, conns = relisten(t, listener.Addr().String())
		becomesInactive(t, here[0])
		conn, err := dialer.Dial(ctx)
		if err != nil {
			t.Fatal(err)
		}
		carries(t, conn, <-conns)
		for i := range here {
			carries(t, here[i], there[i])
			carries(t, there[i], here[i])
			_ = there[i].Close()
			select {
			case <-ended:
				t.Fatal("the session ended before its last connection")
			default:
			}
			_ = here[i].Close()
		}
		if err := listener.Shutdown(ctx); err != nil {
			t.Errorf("the sessions of a closed listener go on: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the session ended with %v", err)
		}
	})
}

func TestAClosedDialerEndsItsSessionWithItsConnections(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		ended := make(chan error, 1)
		listener, err := breezeway.ListenNet(addressOf(t, carrier), nil,
			serves(breezeway.WithOnSessionEnd(func(_ breezeway.Peer,
				err error) {
				ended <- err
			}))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { end(listener) })
		conns := accepted(listener)
		dialer := breezeway.NewNetDialer(listener.Addr().String(), dials()...)
		conn, err := dialer.Dial(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		carries(t, conn, <-conns)
		_ = dialer.Close()
		if _, err := conn.Write([]byte("over")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write on a connection of a closed dialer: %v", err)
		}
		if _, err := dialer.Dial(within(t, time.Minute)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a closed dialer dials: %v", err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the session ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the session of a closed dialer goes on")
		}
	})
}
