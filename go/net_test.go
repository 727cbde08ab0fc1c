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

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

func netListener(t *testing.T, carrier string) *breezeway.NetListener {
	listener, err := breezeway.ListenNet(addressOf(t, carrier))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func TestHTTPRunsOverStreams(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		listener := netListener(t, carrier)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

// accepted hands out what a listener accepts.
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
		listener, err := breezeway.ListenNet(addressOf(t, carrier), breezeway.MaxStreams(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		conns := accepted(listener)
		dialer := breezeway.NewNetDialer(listener.Addr().String())
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

func TestADialerDialsAgainOnceItsSessionIsOver(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		listener := netListener(t, carrier)
		address := listener.Addr().String()
		dialer := breezeway.NewNetDialer(address)
		conns := accepted(listener)
		old, err := dialer.Dial(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		<-conns
		active := old.(interface{ IsActive() bool })
		if !active.IsActive() {
			t.Fatal("an open connection is not active")
		}
		_ = listener.Close()
		if active.IsActive() {
			t.Fatal("a connection whose server has closed is active")
		}
		listener, err = breezeway.ListenNet(address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		conns = accepted(listener)
		conn, err := dialer.Dial(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		carries(t, conn, <-conns)
	})
}
