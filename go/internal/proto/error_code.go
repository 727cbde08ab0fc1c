package proto

// An ErrorCode is the code of a failed call or a reset (section 4.1).
type ErrorCode uint32

// Codes of failed calls and resets.
const (
	CodeFailed         ErrorCode = 1
	CodePanicked       ErrorCode = 2
	CodeNoMemory       ErrorCode = 3
	CodeNoSuchMethod   ErrorCode = 4
	CodeCancelled      ErrorCode = 5
	CodeDeadlinePassed ErrorCode = 6
	CodeRefused        ErrorCode = 7
	CodeOverloaded     ErrorCode = 8
	// FirstApplicationCode is the code that stands for the application's own code 0.
	FirstApplicationCode ErrorCode = 0x10000
)

// MaxErrorReason is the maximum length in bytes of the reason of a failed call, when sent and when
// read.
const MaxErrorReason = 1024
