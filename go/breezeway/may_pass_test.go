package breezeway

import (
	"errors"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHandshakeCutWithinTLSMayPass(t *testing.T) {
	for _, cause := range []error{io.EOF, io.ErrUnexpectedEOF, unix.ECONNRESET, unix.EPIPE} {
		if !mayPass(&TLSError{cause}) {
			t.Errorf("no second attempt after %v", cause)
		}
	}
	if mayPass(&TLSError{errors.New("an unknown certificate")}) {
		t.Error("a second attempt with a certificate that is not accepted")
	}
}
