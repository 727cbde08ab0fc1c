package breezeway_test

import (
	"crypto/x509"
	"errors"
	"os"
	"time"

	breezeway "github.com/breezeway-ipc/breezeway/go"
	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
)

// certified have every test's sessions verify each other over tls:, whose both sides show what one
// authority has issued for hosts of this machine, and let a busy machine take its time for that.
var certified []breezeway.Option

// ofThisHost is a certificate for what tests listen at.
func ofThisHost() *x509.Certificate { return certificates.Of("test", thisHost) }

// certify makes certificates for this process and those that it starts.
func certify(folder string) error {
	a, err := certificates.New(folder, "ca")
	if err == nil {
		err = a.Issue("peer", ofThisHost())
	}
	certified = []breezeway.Option{a.Shown("peer"), a.Trusted(),
		breezeway.HandshakeTimeout(20 * time.Second)}
	sessionOptions = append(sessionOptions, certified...)
	return errors.Join(err, os.Setenv("BREEZEWAY_CERTIFICATE", a.Path("peer.pem")),
		os.Setenv("BREEZEWAY_KEY", a.Path("peer.key")),
		os.Setenv("BREEZEWAY_ROOTS", a.Path("ca.pem")))
}
