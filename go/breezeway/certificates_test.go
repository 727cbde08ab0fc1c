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

// dials returns the options with which tests dial.
func dials(more ...breezeway.DialOption) []breezeway.DialOption {
	return append(all[breezeway.DialOption](certified), more...)
}

// serves returns the options with which tests listen.
func serves(more ...breezeway.ServerOption) []breezeway.ServerOption {
	return append(all[breezeway.ServerOption](certified), more...)
}

// all returns options of both sides as those of one.
func all[T any](opts []breezeway.Option) (list []T) {
	for _, option := range opts {
		list = append(list, option.(T))
	}
	return list
}

// ofThisHost returns a certificate for the addresses at which tests listen.
func ofThisHost() *x509.Certificate { return certificates.Of("test", thisHost) }

// certify creates certificates for this process and those that it starts.
func certify(folder string) error {
	a, err := certificates.New(folder, "ca")
	if err == nil {
		err = a.Issue("peer", ofThisHost())
	}
	certified = []breezeway.Option{a.Shown("peer"), a.Trusted(),
		breezeway.WithHandshakeTimeout(20 * time.Second)}
	sessionOptions = append(sessionOptions, certified...)
	return errors.Join(err, os.Setenv("BREEZEWAY_CERTIFICATE", a.Path("peer.pem")),
		os.Setenv("BREEZEWAY_KEY", a.Path("peer.key")),
		os.Setenv("BREEZEWAY_ROOTS", a.Path("ca.pem")))
}
