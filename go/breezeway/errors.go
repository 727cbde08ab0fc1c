package breezeway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

var (
	// ErrClosed is returned for a session that this side has closed.
	// It is also net.ErrClosed.
	ErrClosed error = &sentinelError{"breezeway: the session was closed here", net.ErrClosed}
	// ErrPeerClosed is returned for a session that the peer has closed in order.
	ErrPeerClosed = errors.New("breezeway: the peer closed the session")
	// ErrPeerDied is returned if the peer of a session has ended without closing it, or has ended
	// it for a violation by this side.
	ErrPeerDied = errors.New("breezeway: the peer is gone and did not close the session")
	// ErrGoingAway is returned for a new call or stream if the server takes no new ones. Open
	// another session.
	ErrGoingAway = errors.New("breezeway: the peer takes no new calls and streams; " +
		"open another session")
	// ErrReleased is returned for a message that was released before.
	ErrReleased       = errors.New("breezeway: the message was released")
	errDeadline       = os.ErrDeadlineExceeded
	errNegativeOffset = errors.New("breezeway: a read at a negative offset")
	// ErrSent is returned for a reservation, or for the reply of a call, that was sent before.
	ErrSent = errors.New("breezeway: it was sent before, or given up")
	// ErrNotTrusted is returned by Slice on a session without the option [WithTrustedPeer].
	ErrNotTrusted = errors.New("breezeway: slices of the peer's memory need the option " +
		"TrustPeer; ReadAt and AppendTo copy")
	// ErrTooMuchPinned is returned by Slice if more memory would stay mapped forever than the
	// option [WithTrustedPeer] allows.
	ErrTooMuchPinned = errors.New("breezeway: slices have taken as much memory as the option " +
		"TrustPeer allows; copy, or raise it")
	// ErrServerClosed is returned by Serve after Close or Shutdown.
	ErrServerClosed = errors.New("breezeway: the server was closed")
)

// A sentinelError is an error that is also one of the standard library.
type sentinelError struct {
	text string
	is   error
}

func (e *sentinelError) Error() string { return e.text }

func (e *sentinelError) Is(target error) bool { return target == e.is }

// A ViolationError names the rule of the ABI that the peer broke. It ends this session and affects
// no other.
type ViolationError struct{ Rule string }

func (e *ViolationError) Error() string {
	return "breezeway: the peer broke a rule: " + e.Rule
}

func violated(format string, args ...any) error {
	return &ViolationError{fmt.Sprintf(format, args...)}
}

// A RefusedError is returned if the server refuses the session. Its Status is one of docs/abi.md,
// section 2.
type RefusedError struct {
	Status uint32
	Reason string
}

func (e *RefusedError) Error() string { return (*proto.Refusal)(e).Error() }

// A TooLargeError is returned for a message that is larger than the session's cap.
type TooLargeError struct{ Len, Max int }

func (e *TooLargeError) Error() string { return (*shm.TooLargeError)(e).Error() }

// A ShortageError is returned for a call or session for which this process lacks memory or
// descriptors. Its Text names what to raise.
type ShortageError struct {
	Text string
	Err  error
}

func (e *ShortageError) Error() string { return e.Text }

func (e *ShortageError) Unwrap() error { return e.Err }

// exported returns an error of an internal package as the type that programs see.
func exported(err error) error {
	switch e := err.(type) {
	case *proto.Refusal:
		return (*RefusedError)(e)
	case *shm.TooLargeError:
		return (*TooLargeError)(e)
	case *segment.ShortageError:
		return (*ShortageError)(e)
	}
	return err
}

// A TooMuchMetadataError is returned for a metadata block that is longer than the peer accepts.
type TooMuchMetadataError struct{ Len, Max int }

func (e *TooMuchMetadataError) Error() string {
	return fmt.Sprintf("breezeway: metadata of %d bytes; the peer takes %d "+
		"(its option WithMaxMetadata)", e.Len, e.Max)
}

// A Code is the reason why a call failed or a stream was reset.
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

// ApplicationCode returns the code for a number that the application defines.
func ApplicationCode(number uint16) Code { return Code(proto.FirstApplicationCode) + Code(number) }

// Application returns the number of an application's code, or false if c is not one.
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

// matches returns true if a code is reported to the program as target: CodeCancelled is
// context.Canceled, and CodeDeadlinePassed context.DeadlineExceeded.
func (c Code) matches(target error) bool {
	switch c {
	case CodeCancelled:
		return target == context.Canceled
	case CodeDeadlinePassed:
		return target == context.DeadlineExceeded
	}
	return false
}

// A CallError is the failure of a call as the server reported it. A handler sets the code by
// returning a CallError. It is also context.Canceled or context.DeadlineExceeded if its code is
// CodeCancelled or CodeDeadlinePassed.
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

// Is returns true for the error of package context that has the meaning of the code.
func (e *CallError) Is(target error) bool { return e.Code.matches(target) }

// A ResetError is returned for a stream that either side has reset. It is an error of package
// context like a [CallError].
type ResetError struct{ Code Code }

func (e *ResetError) Error() string { return "breezeway: the stream was reset: " + e.Code.String() }

// Is returns true for the error of package context that has the meaning of the code.
func (e *ResetError) Is(target error) bool { return e.Code.matches(target) }
