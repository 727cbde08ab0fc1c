package breezeway_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// foreign connects to an address as a client of another protocol.
func foreign(t *testing.T, address string) net.Conn {
	carrier, place, _ := strings.Cut(address, ":")
	network := map[string]string{"shm": "unix", "unix": "unix", "tcp": "tcp", "tls": "tcp"}[carrier]
	conn, err := net.Dial(network, place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if carrier == "tls" {
		config := foreignTLS(t)
		config.NextProtos = []string{"test"}
		conn = tls.Client(conn, config)
	}
	return conn
}

// foreignTLS returns the certificates that the tests' sessions use.
func foreignTLS(t *testing.T) *tls.Config {
	own, err := tls.LoadX509KeyPair(os.Getenv("BREEZEWAY_CERTIFICATE"), os.Getenv("BREEZEWAY_KEY"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(os.Getenv("BREEZEWAY_ROOTS"))
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: roots,
		ServerName: thisHost.String()}
}

// echoAll echoes the bytes of a listener's connections.
func echoAll(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_, _ = io.Copy(conn, conn)
		}()
	}
}

func listenForeign(t *testing.T, carrier string,
	opts ...breezeway.ServerOption) *breezeway.NetListener {
	listener, err := breezeway.ListenNet(addressOf(t, carrier), nil,
		serves(append(opts, breezeway.WithForeignProtocol("test"))...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = listener.Shutdown(over)
	})
	return listener
}

// bounces sends text in pieces, and compares the echo.
func bounces(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	for _, piece := range []string{text[:1], text[1:]} {
		if _, err := io.WriteString(conn, piece); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != text {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestForeignClientIsAcceptedBesideStreams(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		listener := listenForeign(t, carrier)
		go echoAll(listener)
		address := listener.Addr().String()
		// One of these begins like a hello.
		for _, text := range []string{"PRI * HTTP/2.0", "BRZWHELP", strings.Repeat("x", 99)} {
			bounces(t, foreign(t, address), text)
		}
		stream, err := dial(t, address).DialNet(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		bounces(t, stream, "a stream")
	})
}

func TestSilentForeignClientOutlivesTheHandshakeTimeout(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		timeout := 100 * time.Millisecond
		if carrier == "tls" {
			timeout = time.Second // A client needs time for the handshake of TLS.
		}
		listener := listenForeign(t, carrier, breezeway.WithHandshakeTimeout(timeout))
		go echoAll(listener)
		address := listener.Addr().String()
		silent, late := foreign(t, address), foreign(t, address)
		for _, conn := range []net.Conn{silent, late, foreign(t, address)} {
			if shaking, is := conn.(*tls.Conn); is {
				if err := shaking.Handshake(); err != nil {
					t.Fatal(err)
				}
			}
			if conn == silent || conn == late {
				continue
			}
			// The time of this one, which connects after them, ends after theirs would.
			isGivenUp(t, conn)
		}
		isGivenUp(t, late)
		bounces(t, silent, "PRI * HTTP/2.0")
	})
}

// isGivenUp sends a part of a hello and waits for the end of the connection.
func isGivenUp(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := io.WriteString(conn, "BRZ"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Fatalf("the connection goes on: %v", err)
	}
}

func TestSilentForeignClientEndsWithTheServer(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		// A client that connects while the server stops has this time, at most.
		listener := listenForeign(t, carrier, breezeway.WithHandshakeTimeout(time.Second))
		conn := foreign(t, listener.Addr().String())
		if err := listener.Shutdown(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		// The end, or a reset, perhaps behind a refusal.
		if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
			t.Errorf("the connection goes on: %v", err)
		}
	})
}

func TestForeignClientIsKnownByPeerAndCarrier(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		listener := listenForeign(t, carrier)
		client := foreign(t, listener.Addr().String())
		if _, err := io.WriteString(client, "hello"); err != nil {
			t.Fatal(err)
		}
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		wanted := map[string]string{"shm": "unix"}[carrier]
		if wanted == "" {
			wanted = carrier
		}
		if network := conn.LocalAddr().Network(); network != wanted {
			t.Errorf("the network is %s", network)
		}
		local := carrier == "shm" || carrier == "unix"
		if peer := conn.(interface{ Peer() breezeway.Peer }).Peer(); peer.IsSameUser() != local {
			t.Errorf("the peer is %+v", peer)
		}
	})
}

func TestForeignClientCountsAsASession(t *testing.T) {
	listener := listenForeign(t, "unix", breezeway.WithMaxSessions(1))
	go echoAll(listener)
	address := listener.Addr().String()
	client := foreign(t, address)
	bounces(t, client, "one")
	var refused *breezeway.RefusedError
	if _, err := breezeway.Dial(within(t, time.Minute), address); !errors.As(err, &refused) {
		t.Errorf("a session too many: %v", err)
	}
	_ = client.Close()
	for { // Until the server has noticed.
		conn, err := breezeway.Dial(within(t, time.Minute), address)
		if err == nil {
			_ = conn.Close()
			break
		}
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
	}
}

func TestForeignClientIsEndedByShutdownPastItsTime(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		listener := listenForeign(t, carrier)
		go echoAll(listener)
		client := foreign(t, listener.Addr().String())
		bounces(t, client, "there")
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if err := listener.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown gave %v", err)
		}
		if _, err := client.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("the connection goes on: %v", err)
		}
	})
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestForeignClientWithoutTheOptionIsRefused(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		listener, err := breezeway.ListenNet(addressOf(t, carrier), nil, serves()...)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		client := foreign(t, listener.Addr().String())
		_, _ = io.WriteString(client, "PRI * HTTP/2.0")
		if _, err := client.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("the connection goes on: %v", err)
		}
	})
}
