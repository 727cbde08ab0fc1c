// Package certificates creates authorities and certificates for the tests of this module and of its
// sibling modules.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// An Authority issues certificates into files in a folder.
type Authority struct {
	folder, name string
	certificate  *x509.Certificate
	key          *ecdsa.PrivateKey
}

// New creates an authority.
func New(folder, name string) (*Authority, error) {
	a := &Authority{folder: folder, name: name}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	return a, a.Issue(name, template)
}

// Issue issues a certificate from a template. The first one is the authority's own.
func (a *Authority) Issue(name string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotAfter.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
		template.NotAfter = time.Now().Add(time.Hour)
	}
	if a.key == nil {
		a.certificate, a.key = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	if template.IsCA {
		a.certificate, err = x509.ParseCertificate(der)
	}
	secret, failed := x509.MarshalPKCS8PrivateKey(key)
	return errors.Join(err, failed, a.write(name+".pem", "CERTIFICATE", der),
		a.write(name+".key", "PRIVATE KEY", secret))
}

func (a *Authority) write(name, kind string, der []byte) error {
	return os.WriteFile(a.Path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// Path returns the path of a file of the authority.
func (a *Authority) Path(name string) string { return filepath.Join(a.folder, name) }

// Shown returns the option that presents an issued certificate.
func (a *Authority) Shown(name string) breezeway.Option {
	return breezeway.WithCertificate(a.Path(name+".pem"), a.Path(name+".key"))
}

// Trusted returns the option that trusts issued certificates.
func (a *Authority) Trusted() breezeway.Option {
	return breezeway.WithRoots(a.Path(a.name + ".pem"))
}

// Of returns a template for a server or client with that name, valid for localhost, server.test and
// hosts.
func Of(name string, hosts ...net.IP) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name},
		DNSNames: []string{"localhost", "server.test"}, IPAddresses: hosts,
		URIs:        []*url.URL{{Scheme: "spiffe", Host: name, Path: "/echo"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
}

// A Session holds the options of both sides of a session over tls:.
type Session struct {
	Server []breezeway.ServerOption
	Client []breezeway.DialOption
}

// Mutual returns a session whose sides trust certificates of one authority. The server's is valid
// for hosts.
func Mutual(folder string, hosts ...net.IP) (Session, error) {
	a, err := New(folder, "ca")
	if err == nil {
		err = errors.Join(a.Issue("server", Of("server", hosts...)),
			a.Issue("client", Of("client")))
	}
	return Session{[]breezeway.ServerOption{a.Shown("server"), a.Trusted()},
		[]breezeway.DialOption{a.Shown("client"), a.Trusted()}}, err
}

// A Refusal is a session that cannot be established.
type Refusal struct {
	Name string
	Session
	// Says is text that the client's error must contain.
	Says string
}

// Refusals returns sessions in which one side rejects the other's certificate.
func Refusals(folder string, hosts ...net.IP) ([]Refusal, error) {
	a, err := New(folder, "ca")
	other, failed := New(folder, "other")
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	expired := Of("expired", hosts...)
	expired.NotBefore, expired.NotAfter = time.Unix(1, 0), time.Unix(2, 0)
	err = errors.Join(a.Issue("server", Of("server", hosts...)), a.Issue("expired", expired),
		a.Issue("elsewhere", Of("elsewhere")), other.Issue("stranger", Of("stranger")))
	serves := func(options ...breezeway.ServerOption) []breezeway.ServerOption { return options }
	dials := func(options ...breezeway.DialOption) []breezeway.DialOption { return options }
	return []Refusal{
		{"a server's of an unknown authority",
			Session{serves(a.Shown("server")), dials(other.Trusted())}, "unknown authority"},
		{"a server's that has expired", Session{serves(a.Shown("expired")), dials(a.Trusted())},
			"expired"},
		{"a server's for another host", Session{serves(a.Shown("elsewhere")), dials(a.Trusted())},
			"cannot validate certificate"},
		{"a client's that is absent",
			Session{serves(a.Shown("server"), a.Trusted()), dials(a.Trusted())},
			"certificate required"},
		// The certificate is not sent to a server whose list of authorities excludes it.
		{"a client's of an unknown authority", Session{serves(a.Shown("server"), a.Trusted()),
			dials(other.Shown("stranger"), a.Trusted())}, "certificate required"},
	}, err
}
