package rpc

// What the vectors run against.
var (
	FailureOf     = failureOf
	EncodeOutcome = encodeOutcome
	DecodeOutcome = decodeOutcome
	ErrOutcome    = errOutcome
)
