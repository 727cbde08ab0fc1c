// Package certificates makes authorities and certificates for the tests of this module and of those
// beside it.
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

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// An Authority issues certificates into files of a folder.
type Authority struct {
	folder, name string
	certificate  *x509.Certificate
	key          *ecdsa.PrivateKey
}

// New makes an authority.
func New(folder, name string) (*Authority, error) {
	a := &Authority{folder: folder, name: name}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	return a, a.Issue(name, template)
}

// Issue issues what a template says; the first certificate is the authority's own.
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

// Path is where a file of the authority's is.
func (a *Authority) Path(name string) string { return filepath.Join(a.folder, name) }

// Shown is the option to show a certificate that was issued.
func (a *Authority) Shown(name string) breezeway.Option {
	return breezeway.Certificate(a.Path(name+".pem"), a.Path(name+".key"))
}

// Trusted is the option to trust what was issued.
func (a *Authority) Trusted() breezeway.Option { return breezeway.Roots(a.Path(a.name + ".pem")) }

// Of is a certificate for a host and its addresses, of a server or a client of that name.
func Of(name string, hosts ...net.IP) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name},
		DNSNames: []string{"localhost", "server.test"}, IPAddresses: hosts,
		URIs:        []*url.URL{{Scheme: "spiffe", Host: name, Path: "/echo"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
}

// A Session is what both sides of a session over tls: show and trust.
type Session struct{ Server, Client []breezeway.Option }

// Mutual is that of sides which know each other by certificates of one authority, for such hosts.
func Mutual(folder string, hosts ...net.IP) (Session, error) {
	a, err := New(folder, "ca")
	if err == nil {
		err = errors.Join(a.Issue("server", Of("server", hosts...)),
			a.Issue("client", Of("client")))
	}
	return Session{[]breezeway.Option{a.Shown("server"), a.Trusted()},
		[]breezeway.Option{a.Shown("client"), a.Trusted()}}, err
}

// A Refusal is a session that does not come about.
type Refusal struct {
	Name string
	Session
	// Says is what the client's error has to say.
	Says string
}

// Refusals are sessions of which one side refuses the other's certificate.
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
	of := func(options ...breezeway.Option) []breezeway.Option { return options }
	return []Refusal{
		{"a server's of an unknown authority",
			Session{of(a.Shown("server")), of(other.Trusted())}, "unknown authority"},
		{"a server's that has expired", Session{of(a.Shown("expired")), of(a.Trusted())},
			"expired"},
		{"a server's for another host", Session{of(a.Shown("elsewhere")), of(a.Trusted())},
			"cannot validate certificate"},
		{"a client's that is absent",
			Session{of(a.Shown("server"), a.Trusted()), of(a.Trusted())}, "certificate required"},
		// It is not shown to a server that says whom it trusts.
		{"a client's of an unknown authority", Session{of(a.Shown("server"), a.Trusted()),
			of(other.Shown("stranger"), a.Trusted())}, "certificate required"},
	}, err
}
