package breezeway_test

import (
	"bytes"
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
	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
)

// hosts returns an authority for a test, and options of a server with a certificate of it.
func hosts(t *testing.T) (*certificates.Authority, []breezeway.ServerOption) {
	t.Helper()
	a, err := certificates.New(t.TempDir(), "ca")
	if err == nil {
		err = a.Issue("peer", ofThisHost())
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, []breezeway.ServerOption{a.Shown("peer")}
}

func TestAServersCertificateThatIsBadIsRefusedWithWhatIsWrong(t *testing.T) {
	a, _ := hosts(t)
	other, otherOptions := hosts(t)
	expired, wrong := ofThisHost(), ofThisHost()
	expired.NotBefore, expired.NotAfter = time.Unix(1, 0), time.Unix(2, 0)
	wrong.IPAddresses = nil
	for name, template := range map[string]*x509.Certificate{"expired": expired, "wrong": wrong} {
		if err := a.Issue(name, template); err != nil {
			t.Fatal(err)
		}
	}
	of := func(name string) []breezeway.ServerOption {
		return []breezeway.ServerOption{a.Shown(name)}
	}
	for name, c := range map[string]struct {
		server []breezeway.ServerOption
		is     func(err error) bool
	}{
		"expired": {of("expired"), func(err error) bool {
			var invalid x509.CertificateInvalidError
			return errors.As(err, &invalid) && invalid.Reason == x509.Expired
		}},
		"of another host": {of("wrong"), func(err error) bool {
			return errors.As(err, new(x509.HostnameError))
		}},
		"of another authority": {otherOptions, func(err error) bool {
			return errors.As(err, new(x509.UnknownAuthorityError))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			address := goServer(t, "tls", echoes, nil, append(c.server, breezeway.WithRoots(""))...)
			_, err := breezeway.Dial(within(t, time.Minute), address, a.Trusted())
			if !c.is(err) || !errors.As(err, new(*breezeway.TLSError)) {
				t.Fatalf("a session with it: %v", err)
			}
		})
	}
	_, err := breezeway.Dial(within(t, time.Minute), "tls:127.0.0.1:1",
		breezeway.WithRoots(other.Path("peer.pem")))
	if err == nil || !strings.Contains(err.Error(), "none of an authority") {
		t.Fatalf("a root that is no authority's: %v", err)
	}
}

func TestAConfigThatWouldJudgeNoCertificateIsRefusedByItsField(t *testing.T) {
	other := func(*tls.ClientHelloInfo) (*tls.Config, error) { return &tls.Config{}, nil }
	for field, config := range map[string]*tls.Config{
		"GetConfigForClient": {GetConfigForClient: other},
		"InsecureSkipVerify": {InsecureSkipVerify: true},
	} {
		option := breezeway.WithTLSConfig(config)
		server, listening := breezeway.Listen(addressOf(t, "tls"), echoes, serves(option)...)
		if listening == nil {
			_ = server.Close()
		}
		_, dialled := breezeway.Dial(within(t, time.Minute), "tls:127.0.0.1:1", dials(option)...)
		for _, err := range []error{listening, dialled} {
			if err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v", field, err)
			}
		}
	}
}

func TestServerWithRootsIdentifiesClientsByCertificate(t *testing.T) {
	a, server := hosts(t)
	names := make(chan []string, 1)
	address := goServer(t, "tls", func(_ context.Context, call *breezeway.Call) error {
		names <- call.Peer().Identity.DNSNames
		return call.Echo()
	}, nil, append(server, a.Trusted())...)
	trusting := a.Trusted()
	_, err := breezeway.Dial(within(t, time.Minute), address, trusting)
	var alert tls.AlertError
	if !errors.As(err, new(*breezeway.TLSError)) || !errors.As(err, &alert) && !strings.Contains(
		err.Error(), "certificate required") {
		t.Errorf("a client without a certificate: %v", err)
	}
	conn := dial(t, address, a.Shown("peer"), trusting)
	if _, err := conn.Call(within(t, time.Minute), echo, nil); err != nil {
		t.Fatal(err)
	}
	if got := <-names; strings.Join(got, " ") != "localhost server.test" {
		t.Errorf("the client's certificate names %v", got)
	}
	if identity := conn.Peer().Identity; identity == nil || identity.URIs[0].String() !=
		"spiffe://test/echo" {
		t.Errorf("the server's identity is %v", identity)
	}
}

func TestAPolicyRefusesByWhatACertificateSaysAndItsReasonArrives(t *testing.T) {
	address := goServer(t, "tls", echoes, nil,
		breezeway.WithAuthorize(func(p breezeway.Peer) error {
			return errors.New("not " + p.Identity.Subject.CommonName)
		}))
	_, err := breezeway.Dial(within(t, time.Minute), address, dials()...)
	var refused *breezeway.RefusedError
	if !errors.As(err, &refused) || refused.Reason != "not test" {
		t.Fatal(err)
	}
}

func TestClientWithoutTLSGetsErrorAndOthersAreServed(t *testing.T) {
	plain := goServer(t, "tcp", echoes, nil)
	_, err := breezeway.Dial(within(t, time.Minute), "tls"+strings.TrimPrefix(plain, "tcp"),
		dials()...)
	if err == nil || !strings.Contains(err.Error(), "may not speak TLS") {
		t.Errorf("TLS with a plain server: %v", err)
	}
	secure := goServer(t, "tls", echoes, nil)
	conn := dial(t, secure)
	_, err = breezeway.Dial(within(t, time.Minute), "tcp"+strings.TrimPrefix(secure, "tls"))
	if err == nil || !strings.Contains(err.Error(), "speak Breezeway") {
		t.Errorf("a plain session with a server of TLS: %v", err)
	}
	if _, err := conn.Call(within(t, time.Minute), echo, make([]byte, 100_000)); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"tls:127.0.0.1:0", "tls:127.0.0.1:1"} {
		_, listening := breezeway.Listen(address, echoes)
		_, dialled := breezeway.Dial(context.Background(), address)
		if listening == nil || dialled == nil ||
			!strings.Contains(listening.Error()+dialled.Error(),
				"option") {
			t.Errorf("without certificates: %v, %v", listening, dialled)
		}
	}
}

// relay passes bytes on between a client and a server of tls:, as modified by change.
func relay(t *testing.T, address string, change func(toClient bool, bytes []byte) bool) string {
	t.Helper()
	listener, err := net.Listen("tcp", thisHost.String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", strings.TrimPrefix(address, "tls:"))
		if err != nil {
			t.Error(err)
			return
		}
		pass := func(from, to net.Conn, toClient bool) {
			defer to.Close()
			defer from.Close()
			bytes := make([]byte, 4096)
			for {
				n, err := from.Read(bytes)
				if err != nil || !change(toClient, bytes[:n]) {
					return
				}
				if _, err := to.Write(bytes[:n]); err != nil {
					return
				}
			}
		}
		go pass(client, server, false)
		pass(server, client, true)
	}()
	return "tls:" + listener.Addr().String()
}

func TestChangedTLSBytesEndSessionAndCutIsPeerDeath(t *testing.T) {
	for name, c := range map[string]struct {
		change func(bytes []byte) bool
		is     func(err error) bool
	}{
		"changed": {func(bytes []byte) bool { bytes[len(bytes)-1] ^= 1; return true },
			func(err error) bool { return errors.As(err, new(*breezeway.TLSError)) }},
		"cut": {func([]byte) bool { return false },
			func(err error) bool { return errors.Is(err, breezeway.ErrPeerDied) }},
	} {
		t.Run(name, func(t *testing.T) {
			begin := make(chan struct{})
			server := goServer(t, "tls", echoes, nil)
			address := relay(t, server, func(toClient bool, bytes []byte) bool {
				select {
				case <-begin:
					return !toClient || c.change(bytes)
				default:
					return true
				}
			})
			conn := dial(t, address)
			request := pattern(1000, 1)
			reply, err := conn.Call(within(t, time.Minute), echo, request)
			if err != nil || !bytes.Equal(reply.Bytes(), request) {
				t.Fatal(err)
			}
			close(begin)
			if _, err := conn.Call(within(t, time.Minute), echo, request); !c.is(err) {
				t.Fatalf("the call ended with %v", err)
			}
		})
	}
}

func TestTLSBytesAreEncrypted(t *testing.T) {
	secret := []byte("a secret that nobody on the way is to see")
	seen := make(chan []byte, 1000)
	address := relay(t, goServer(t, "tls", echoes, nil), func(_ bool, b []byte) bool {
		seen <- bytes.Clone(b)
		return true
	})
	conn := dial(t, address)
	if _, err := conn.Call(within(t, time.Minute), echo, secret); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for len(seen) > 0 {
		all = append(all, <-seen...)
	}
	hello := []byte("BRZWHELO")
	if len(all) < len(secret) || bytes.Contains(all, secret) || bytes.Contains(all, hello) {
		t.Fatalf("of %d bytes some are plain", len(all))
	}
}

func TestTLSServerClosesSilentClient(t *testing.T) {
	address := goServer(t, "tls", echoes, nil, breezeway.WithHandshakeTimeout(50*time.Millisecond))
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "tls:"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server waits")
	}
}

func TestTLSDialNamesTheTimeForTheHello(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	_, err = breezeway.Dial(within(t, time.Minute), "tls:"+silent.Addr().String(),
		dials(breezeway.WithHandshakeTimeout(200*time.Millisecond))...)
	if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(),
		"no hello within 200ms") {
		t.Error(err)
	}
}
