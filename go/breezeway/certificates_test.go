package breezeway_test

import (
	"crypto/x509"
	"errors"
	"os"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
)

// certified holds the options with which each test's sessions verify each other over tls:. Both
// sides present a certificate that one authority has issued for hosts of this machine. The timeouts
// suit a busy machine.
var certified []breezeway.Option

// ofThisHost returns a certificate for the addresses at which tests listen.
func ofThisHost() *x509.Certificate { return certificates.Of("test", thisHost) }

// certify creates certificates for this process and those that it starts.
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
