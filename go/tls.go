package breezeway

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A TLSError is what TLS says: of the other side's certificate, which Unwrap gives as crypto/tls
// and crypto/x509 do, of bytes that were changed on their way, or the other side's alert.
type TLSError struct{ Err error }

func (e *TLSError) Error() string {
	if errors.Is(e.Err, io.EOF) || errors.Is(e.Err, io.ErrUnexpectedEOF) ||
		errors.Is(e.Err, unix.ECONNRESET) {
		return "breezeway: TLS: the other side closed the connection during the handshake; " +
			"it may not speak TLS"
	}
	return "breezeway: TLS: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *TLSError) Unwrap() error { return e.Err }

// alpn is how a session names its protocol to a TLS server.
const alpn = "breezeway"

// tlsConfig makes what a client or a server of tls: speaks by, from files if options name them.
// What Breezeway demands cannot be set: TLS 1.3, its protocol's name, and that each session begins
// with a whole handshake, so that nobody whose certificate has expired opens a new one.
func (o *options) tlsConfig(isClient bool) (*tls.Config, error) {
	config := &tls.Config{}
	if o.tls != nil {
		// Each would have the other side's certificate not be judged by what is said here.
		switch {
		case o.tls.GetConfigForClient != nil:
			return nil, errors.New("breezeway: option TLSConfig: GetConfigForClient is not " +
				"taken; set what it would give in the config itself")
		case o.tls.InsecureSkipVerify:
			return nil, errors.New("breezeway: option TLSConfig: InsecureSkipVerify is not " +
				"taken; set RootCAs, or the option Roots")
		}
		config = o.tls.Clone()
	}
	if o.chain != "" {
		certificate, err := tls.LoadX509KeyPair(o.chain, o.key)
		if err != nil {
			return nil, fmt.Errorf("breezeway: option Certificate (%s, %s): %w", o.chain, o.key,
				err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	if o.roots != "" {
		roots, err := readRoots(o.roots)
		if err != nil {
			return nil, fmt.Errorf("breezeway: option Roots (%s): %w", o.roots, err)
		}
		config.RootCAs, config.ClientCAs = roots, roots
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	hasOwn := len(config.Certificates) > 0 || config.GetCertificate != nil
	switch {
	case isClient && config.RootCAs == nil:
		return nil, errors.New("breezeway: a client of tls: needs the option Roots")
	case !isClient && !hasOwn:
		return nil, errors.New("breezeway: a server of tls: needs the option Certificate")
	}
	config.MinVersion = tls.VersionTLS13
	config.NextProtos = []string{alpn}
	config.SessionTicketsDisabled, config.ClientSessionCache = true, nil
	return config, nil
}

// clientTLS is what a client of an address speaks by; nil where that is not TLS.
func (o *options) clientTLS(address Address) (*tls.Config, error) {
	if address.Carrier != TLS {
		return nil, nil
	}
	config, err := o.tlsConfig(true)
	if err == nil && config.ServerName == "" {
		config.ServerName, _, err = net.SplitHostPort(address.Path)
	}
	return config, err
}

// readRoots reads certificates of authorities. A server's own is none: whoever has its key could
// issue certificates for any host.
func readRoots(path string) (*x509.CertPool, error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	roots, count := x509.NewCertPool(), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if !certificate.IsCA {
			return nil, fmt.Errorf("the certificate of %v is none of an authority (cA is not "+
				"true in its basicConstraints)", certificate.Subject)
		}
		roots.AddCert(certificate)
		count++
	}
	if count == 0 {
		return nil, errors.New("there is no certificate in it (PEM)")
	}
	return roots, nil
}

// secured is a connection within which TLS is spoken. crypto/tls reads and writes by its methods:
// during the handshake they wait; afterwards the session, which waits by itself, gives it what is
// there and takes what it has encrypted.
type secured struct {
	net.Conn
	tls *tls.Conn
	// agreed is set once the session has the connection; fd is that of a read.
	agreed bool
	fd     int
	failed bool
	link   *socketLink
	// answered is how much TLS has answered to what it read since the socket last took everything.
	reading  bool
	answered int
	err      error
}

// mostAnswered bounds what TLS answers to the other side's requests for new keys while that one
// reads nothing: 2,000 of them and more.
const mostAnswered = 64 << 10

// errNothingYet is that of a read which finds nothing now. TLS reads on after errors of this kind.
type errNothingYet struct{}

func (errNothingYet) Error() string   { return "nothing has come yet" }
func (errNothingYet) Timeout() bool   { return true }
func (errNothingYet) Temporary() bool { return true }

// secure makes the handshake.
func secure(conn net.Conn, config *tls.Config, isClient bool) (*secured, error) {
	s := &secured{Conn: conn}
	if isClient {
		s.tls = tls.Client(s, config)
	} else {
		s.tls = tls.Server(s, config)
	}
	if err := s.tls.Handshake(); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
		return nil, &TLSError{err}
	}
	return s, nil
}

// identity is the certificate of the other side, if it was verified.
func (s *secured) identity() *x509.Certificate {
	state := s.tls.ConnectionState()
	if len(state.VerifiedChains) == 0 {
		return nil
	}
	return state.PeerCertificates[0]
}

// Read gives TLS what has come.
func (s *secured) Read(to []byte) (int, error) {
	if !s.agreed {
		return s.Conn.Read(to)
	}
	for s.err == nil {
		n, err := unix.Read(s.fd, to)
		switch {
		case err == nil && n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF
		case errors.Is(err, unix.EAGAIN):
			return 0, errNothingYet{}
		case !errors.Is(err, unix.EINTR):
			s.failed = true
			return 0, err
		}
	}
	return 0, s.err
}

// Write takes what TLS has encrypted.
func (s *secured) Write(bytes []byte) (int, error) {
	if !s.agreed {
		return s.Conn.Write(bytes)
	}
	if s.link.sent == len(s.link.out) {
		s.answered = 0
	}
	if s.reading {
		if s.answered += len(bytes); s.answered > mostAnswered {
			s.err = violated("more requests of TLS than the other side reads the answers to")
			return 0, s.err
		}
	}
	s.link.out = append(s.link.out, bytes...)
	return len(bytes), nil
}

// SetWriteDeadline is what TLS's farewell asks for, which waits for nothing here.
func (s *secured) SetWriteDeadline(t time.Time) error {
	if s.agreed {
		return nil
	}
	return s.Conn.SetWriteDeadline(t)
}

// readWithin reads what has come within TLS: nothing, the end, or an error of TLS.
func (s *secured) readWithin(fd uintptr, to []byte) (n int, closed bool, err error) {
	s.fd, s.reading = int(fd), true
	n, err = s.tls.Read(to)
	s.reading = false
	switch {
	case s.err != nil:
		return 0, false, s.err
	case n > 0 || err == nil || errors.As(err, new(errNothingYet)):
		return n, false, nil
	case s.failed || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return 0, true, nil
	}
	return 0, true, &TLSError{err}
}
