package proto

// An ErrorCode is the code of a failed call or a reset (section 4.1).
type ErrorCode uint32

// The codes.
const (
	CodeFailed         ErrorCode = 1
	CodePanicked       ErrorCode = 2
	CodeNoMemory       ErrorCode = 3
	CodeNoSuchMethod   ErrorCode = 4
	CodeCancelled      ErrorCode = 5
	CodeDeadlinePassed ErrorCode = 6
	CodeRefused        ErrorCode = 7
	CodeOverloaded     ErrorCode = 8
	// The application's own codes: this one is its code 0.
	FirstApplicationCode ErrorCode = 0x10000
)

// MaxErrorReason is the most bytes of the reason of a failed call that are sent, and that are read.
const MaxErrorReason = 1024
