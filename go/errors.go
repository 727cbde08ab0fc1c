package breezeway

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

var (
	// ErrClosed is that of a session which this side has closed.
	ErrClosed = errors.New("breezeway: the session was closed here")
	// ErrPeerClosed is that of a session which the other side has closed in order.
	ErrPeerClosed = errors.New("breezeway: the other side closed the session")
	// ErrPeerDied is that of a session whose other side went without closing it, or found that this
	// side broke a rule.
	ErrPeerDied = errors.New("breezeway: the other side is gone and did not close the session")
	// ErrGoingAway is that of a call or stream to a server that takes no new ones; open another
	// session.
	ErrGoingAway = errors.New("breezeway: the other side takes no new calls and streams; " +
		"open another session")
	// ErrReleased is that of a message which was released before.
	ErrReleased       = errors.New("breezeway: the message was released")
	errDeadline       = os.ErrDeadlineExceeded
	errNegativeOffset = errors.New("breezeway: a read at a negative offset")
	// ErrSent is that of a reservation, or of a call's reply, which was sent before.
	ErrSent = errors.New("breezeway: it was sent before, or given up")
	// ErrNotTrusted is that of a slice of a session without the option TrustPeer.
	ErrNotTrusted = errors.New("breezeway: slices of the other side's memory need the option " +
		"TrustPeer; ReadAt and AppendTo copy")
	// ErrTooMuchPinned is that of a slice for which more memory would stay mapped for ever than the
	// option TrustPeer allows.
	ErrTooMuchPinned = errors.New("breezeway: slices have taken as much memory as the option " +
		"TrustPeer allows; copy, or raise it")
	// ErrServerClosed is what Serve returns after Close or Shutdown.
	ErrServerClosed = errors.New("breezeway: the server was closed")
)

// A ViolationError says which rule of the ABI the other side broke, which ended this session and
// harmed no other.
type ViolationError struct{ Rule string }

func (e *ViolationError) Error() string {
	return "breezeway: the other side broke a rule: " + e.Rule
}

func violated(format string, args ...any) error {
	return &ViolationError{fmt.Sprintf(format, args...)}
}

// A RefusedError is that of a server which does not want this session. Its Status is one of
// docs/abi.md, section 2.
type RefusedError = proto.Refusal

// A TooLargeError is that of a message which is larger than the session's cap.
type TooLargeError = shm.TooLargeError

// A ShortageError is that of a call or session for which this process lacks memory or descriptors.
type ShortageError = segment.ShortageError

// A TooMuchMetadataError is that of a metadata block which the other side does not take.
type TooMuchMetadataError struct{ Len, Max int }

func (e *TooMuchMetadataError) Error() string {
	return fmt.Sprintf("breezeway: metadata of %d bytes; the other side takes %d "+
		"(its option MaxMetadata)", e.Len, e.Max)
}

// A Code says why a call failed, or a stream was reset.
type Code uint32

// The codes of docs/abi.md, section 4.1.
const (
	CodeFailed         = Code(proto.CodeFailed)
	CodePanicked       = Code(proto.CodePanicked)
	CodeNoMemory       = Code(proto.CodeNoMemory)
	CodeNoSuchMethod   = Code(proto.CodeNoSuchMethod)
	CodeCancelled      = Code(proto.CodeCancelled)
	CodeDeadlinePassed = Code(proto.CodeDeadlinePassed)
	CodeRefused        = Code(proto.CodeRefused)
	CodeOverloaded     = Code(proto.CodeOverloaded)
)

// ApplicationCode is one of the application's own codes.
func ApplicationCode(number uint16) Code { return Code(proto.FirstApplicationCode) + Code(number) }

// Application gives the number of an application's code; false if it is none.
func (c Code) Application() (uint16, bool) {
	const first = Code(proto.FirstApplicationCode)
	return uint16(c - first), c >= first && c-first <= math.MaxUint16
}

var codeNames = map[Code]string{
	CodeFailed: "failed", CodePanicked: "panicked", CodeNoMemory: "no memory",
	CodeNoSuchMethod: "no such method", CodeCancelled: "cancelled",
	CodeDeadlinePassed: "deadline passed", CodeRefused: "refused", CodeOverloaded: "overloaded",
}

func (c Code) String() string {
	if name := codeNames[c]; name != "" {
		return name
	}
	if number, is := c.Application(); is {
		return fmt.Sprintf("application code %d", number)
	}
	return fmt.Sprintf("code %d", uint32(c))
}

// A CallError is a call's failure as the server said it. A handler that returns one decides the
// code.
type CallError struct {
	Code   Code
	Reason string
}

func (e *CallError) Error() string {
	if e.Reason == "" {
		return "breezeway: the call failed: " + e.Code.String()
	}
	return fmt.Sprintf("breezeway: the call failed: %s: %s", e.Code, e.Reason)
}

// A ResetError is that of a stream which one of both sides has reset.
type ResetError struct{ Code Code }

func (e *ResetError) Error() string { return "breezeway: the stream was reset: " + e.Code.String() }
