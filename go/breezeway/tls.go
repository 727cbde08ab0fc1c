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

// A TLSError is an error of TLS: a certificate of the peer that was not accepted, with the error of
// crypto/tls or crypto/x509 as its cause, modified bytes, or the peer's alert.
type TLSError struct{ Err error }

func (e *TLSError) Error() string {
	if isCut(e.Err) {
		return "breezeway: TLS: the peer closed the connection during the handshake; " +
			"it may not speak TLS"
	}
	return "breezeway: TLS: " + e.Err.Error()
}

// isCut returns true if the peer has closed the connection during the handshake.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
}

// Unwrap returns the cause.
func (e *TLSError) Unwrap() error { return e.Err }

// alpn is the protocol name of a session in TLS.
const alpn = "breezeway"

// tlsConfig returns the TLS configuration of a client or a server, with files that options name. It
// overrides settings that Breezeway requires: TLS 1.3, the protocol's name, and a full handshake
// for each session, so that a peer with an expired certificate cannot open one.
func (o *options) tlsConfig(isClient bool) (*tls.Config, error) {
	config := &tls.Config{}
	if o.tls != nil {
		// Either one would bypass the verification of the peer's certificate by this configuration.
		switch {
		case o.tls.GetConfigForClient != nil:
			return nil, errors.New("breezeway: option WithTLSConfig: GetConfigForClient is not " +
				"taken; set what it would give in the config itself")
		case o.tls.InsecureSkipVerify:
			return nil, errors.New("breezeway: option WithTLSConfig: InsecureSkipVerify is not " +
				"taken; set RootCAs, or the option WithRoots")
		}
		config = o.tls.Clone()
	}
	if o.chain != "" {
		certificate, err := tls.LoadX509KeyPair(o.chain, o.key)
		if err != nil {
			return nil, fmt.Errorf("breezeway: option WithCertificate (%s, %s): %w", o.chain, o.key,
				err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	if o.roots != "" {
		roots, err := readRoots(o.roots)
		if err != nil {
			return nil, fmt.Errorf("breezeway: option WithRoots (%s): %w", o.roots, err)
		}
		config.RootCAs, config.ClientCAs = roots, roots
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	hasOwn := len(config.Certificates) > 0 || config.GetCertificate != nil
	switch {
	case isClient && config.RootCAs == nil:
		return nil, errors.New("breezeway: a client of tls: needs the option WithRoots")
	case !isClient && !hasOwn:
		return nil, errors.New("breezeway: a server of tls: needs the option WithCertificate")
	}
	config.MinVersion = tls.VersionTLS13
	config.NextProtos = []string{alpn}
	config.SessionTicketsDisabled, config.ClientSessionCache = true, nil
	return config, nil
}

// clientTLS returns a client's TLS configuration for an address, or nil if the carrier is not TLS.
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

// readRoots reads certificates of authorities. It rejects a server's own certificate: the holder of
// its key could issue certificates for any host.
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
		return nil, errors.New("it contains no certificate (PEM)")
	}
	return roots, nil
}

// A secured is a connection with TLS. crypto/tls reads and writes by its methods. They wait during
// the handshake; afterwards they do not, and the session supplies received bytes and takes
// encrypted ones.
type secured struct {
	net.Conn
	tls *tls.Conn
	// agreed is set once the session has the connection. fd is the descriptor during a read.
	agreed bool
	fd     int
	failed bool
	link   *socketLink
	// answered counts the bytes that TLS has answered since the socket last accepted everything.
	reading  bool
	answered int
	err      error
}

// mostAnswered bounds the answers of TLS to the peer's requests for new keys while the peer reads
// nothing.
const mostAnswered = 64 << 10

// errNothingYet is returned by a read without input. TLS continues after errors of this kind.
type errNothingYet struct{}

func (errNothingYet) Error() string   { return "nothing has come yet" }
func (errNothingYet) Timeout() bool   { return true }
func (errNothingYet) Temporary() bool { return true }

// secure performs the TLS handshake.
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

// identity returns the peer's certificate if it was verified, else nil.
func (s *secured) identity() *x509.Certificate {
	state := s.tls.ConnectionState()
	if len(state.VerifiedChains) == 0 {
		return nil
	}
	return state.PeerCertificates[0]
}

// Read reads received bytes for TLS.
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

// Write takes bytes that TLS has encrypted.
func (s *secured) Write(bytes []byte) (int, error) {
	if !s.agreed {
		return s.Conn.Write(bytes)
	}
	if s.link.sent == len(s.link.out) {
		s.answered = 0
	}
	if s.reading {
		if s.answered += len(bytes); s.answered > mostAnswered {
			s.err = violated("more requests of TLS than the peer reads the answers to")
			return 0, s.err
		}
	}
	s.link.out = append(s.link.out, bytes...)
	return len(bytes), nil
}

// SetWriteDeadline does nothing for the closing alert of TLS, which does not wait here.
func (s *secured) SetWriteDeadline(t time.Time) error {
	if s.agreed {
		return nil
	}
	return s.Conn.SetWriteDeadline(t)
}

// readWithin reads decrypted bytes. It returns the end of the connection, or an error of TLS.
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
