package breezewayotel

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// kindOf returns the name of the ErrorKind that Rust's crates have for an error of a call or of a
// handler.
func kindOf(err error) string {
	var failed *breezeway.CallError
	if errors.As(err, &failed) {
		return kindOfCode(failed.Code)
	}
	if code, isReset := breezeway.IsReset(err); isReset {
		return kindOfCode(code)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "Deadline"
	case errors.Is(err, context.Canceled):
		return "Cancelled"
	case errors.Is(err, rpc.ErrUnknownMethod), errors.As(err, new(*breezeway.RefusedError)):
		return "Refused"
	case errors.Is(err, rpc.ErrProtocol), errors.Is(err, rpc.ErrMissingResult),
		errors.As(err, new(*breezeway.ViolationError)):
		return "Violation"
	case errors.As(err, new(*breezeway.TooLargeError)),
		errors.As(err, new(*breezeway.TooMuchMetadataError)):
		return "TooLarge"
	case errors.As(err, new(*breezeway.ShortageError)):
		return "Shortage"
	case errors.Is(err, breezeway.ErrGoingAway):
		return "GoingAway"
	case errors.Is(err, breezeway.ErrPeerDied):
		return "Died"
	case errors.Is(err, breezeway.ErrPeerClosed), errors.Is(err, net.ErrClosed):
		return "Closed"
	case !breezeway.MayHaveRun(err):
		return "Unreachable"
	}
	return "Failed"
}

func kindOfCode(code breezeway.Code) string {
	switch code {
	case breezeway.CodeNoMemory, breezeway.CodeOverloaded:
		return "Shortage"
	case breezeway.CodeNoSuchMethod, breezeway.CodeRefused:
		return "Refused"
	case breezeway.CodeCancelled:
		return "Cancelled"
	case breezeway.CodeDeadlinePassed:
		return "Deadline"
	}
	return "Failed"
}
