package breezeway

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// expand implements HKDF-Expand-Label of RFC 8446, section 7.1, for at most one hash.
func expand(secret []byte, label string, length int) []byte {
	label = "tls13 " + label
	info := binary.BigEndian.AppendUint16(nil, uint16(length))
	info = append(append(info, byte(len(label))), label...)
	mac := hmac.New(sha256.New, secret)
	mac.Write(append(info, 0, 1)) // No context, and the first block.
	return mac.Sum(nil)[:length]
}

// A sealer writes records of TLS_AES_128_GCM_SHA256 by hand, because crypto/tls never requests new
// keys.
type sealer struct {
	secret, iv []byte
	aead       cipher.AEAD
	count      uint64
}

func (s *sealer) use(secret []byte) error {
	block, err := aes.NewCipher(expand(secret, "key", 16))
	if err != nil {
		return err
	}
	s.secret, s.iv, s.count = secret, expand(secret, "iv", 12), 0
	s.aead, err = cipher.NewGCM(block)
	return err
}

func (s *sealer) record(kind byte, bytes ...byte) []byte {
	const applicationData, overhead = 23, 17
	head := binary.BigEndian.AppendUint16([]byte{applicationData, 3, 3},
		uint16(len(bytes)+overhead))
	nonce := append([]byte(nil), s.iv...)
	low := binary.BigEndian.Uint64(nonce[4:]) ^ s.count
	binary.BigEndian.PutUint64(nonce[4:], low)
	s.count++
	return s.aead.Seal(head, nonce, append(bytes, kind), head)
}

// A clientSecret is a secret from the key log of crypto/tls.
type clientSecret []byte

func (c *clientSecret) Write(line []byte) (int, error) {
	words := strings.Fields(string(line))
	var err error
	if words[0] == "CLIENT_TRAFFIC_SECRET_0" {
		*c, err = hex.DecodeString(words[2])
	}
	return len(line), err
}

func TestTLSKeyUpdatesWithoutReadsEndSession(t *testing.T) {
	began, ended := make(chan Peer, 1), make(chan error, 1)
	server, address := quietServer(t, "tls:127.0.0.1:0",
		func(_ context.Context, call *Call) error { return call.Echo() },
		WithCertificate(os.Getenv("BREEZEWAY_CERTIFICATE"), os.Getenv("BREEZEWAY_KEY")),
		WithOnSessionStart(func(p Peer) { began <- p }),
		WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
	small := func(raw syscall.RawConn, option int) (err error) {
		failed := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, 4096)
		})
		return errors.Join(err, failed)
	}
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return small(raw, unix.SO_RCVBUF)
	}}
	conn, err := dialer.DialContext(contextOf(t), "tcp", strings.TrimPrefix(address, "tls:"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	authority, err := os.ReadFile(os.Getenv("BREEZEWAY_ROOTS"))
	if err != nil {
		t.Fatal(err)
	}
	roots, secret := x509.NewCertPool(), clientSecret{}
	roots.AppendCertsFromPEM(authority)
	secure := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "localhost",
		MinVersion: tls.VersionTLS13, KeyLogWriter: &secret})
	if err := secure.HandshakeContext(contextOf(t)); err != nil {
		t.Fatal(err)
	}
	if suite := secure.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("SKIPPED: the records are written for a processor with AES, not for ",
			tls.CipherSuiteName(suite))
	}
	var s sealer
	if err := s.use(secret); err != nil {
		t.Fatal(err)
	}
	const handshake, applicationData = 22, 23
	options := defaults()
	_, err = conn.Write(s.record(applicationData, options.hello(false).Encode()...))
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "the session", began)
	for _, session := range server.all() {
		if err := small(session.raw, unix.SO_SNDBUF); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(contextOf(t))
	go func() {
		defer cancel()
		for count := range 50_000 {
			var asked []byte
			if count%8 == 0 { // crypto/tls ends a peer that sends nothing else.
				asked = s.record(applicationData, proto.AppendFrame(nil, crossedReset, 0)...)
			}
			const keyUpdate, requested = 24, 1
			asked = append(asked, s.record(handshake, keyUpdate, 0, 0, 1, requested)...)
			if _, err := conn.Write(asked); err != nil {
				return
			}
			if err := s.use(expand(s.secret, "traffic upd", sha256.Size)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	<-ctx.Done()
	if err := soon(t, "the session's end", ended); !errors.As(err, new(*ViolationError)) {
		t.Fatalf("the session ended with %v", err)
	}
}
