package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// An Exception is an error of a call that its method does not declare, Thrift's
// TApplicationException. A handler may return one to set the kind; other errors are of
// KindInternalError.
type Exception struct {
	Kind    int32
	Message string
}

// Kinds of exceptions, those of Thrift. Services may have others, from 0 to 65534.
const (
	KindUnknownMethod      = wire.UnknownMethod
	KindInvalidMessageType = wire.InvalidMessageType
	KindMissingResult      = wire.MissingResult
	KindInternalError      = wire.InternalError
	KindProtocolError      = wire.ProtocolError
)

// Exceptions without a message are those that errors.Is compares others of their kind with.
var (
	ErrUnknownMethod = &Exception{Kind: KindUnknownMethod}
	ErrMissingResult = &Exception{Kind: KindMissingResult, Message: "the reply has no result"}
	ErrProtocol      = &Exception{Kind: KindProtocolError}
)

// Error returns the message.
func (e *Exception) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("rpc: exception of kind %d", e.Kind)
	}
	return e.Message
}

// Is returns true for an exception of the same kind.
func (e *Exception) Is(target error) bool {
	other, is := target.(*Exception)
	return is && other.Kind == e.Kind
}

// A BusinessError is an error of a handler that its caller acts on by a number. Extra travels with
// streams only.
type BusinessError struct {
	Status  int32
	Message string
	Extra   map[string]string
}

// Error returns the message and the status.
func (e *BusinessError) Error() string { return fmt.Sprintf("%s (status %d)", e.Message, e.Status) }

// reasonOf returns the text of a handler's error. It names the remedy for an exception that the
// method does not declare, such as one of another service that the handler has called.
func reasonOf(m Method, err error) string {
	var exception interface {
		error
		thrift.Struct
	}
	if errors.As(err, &exception) {
		return fmt.Sprintf("%v (%v does not declare %T; add it to its throws, or return another "+
			"error)", err, m, exception)
	}
	return err.Error()
}

// codeOf returns the failure of a call whose handler has returned err.
func codeOf(ctx context.Context, m Method, err error) *breezeway.CallError {
	var (
		business  *BusinessError
		exception *Exception
		code      = breezeway.CodeFailed
	)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		code = breezeway.CodeDeadlinePassed
	case ctx.Err() != nil:
		code = breezeway.CodeCancelled
	case errors.As(err, &business):
		return &breezeway.CallError{Code: wire.BusinessCode,
			Reason: wire.BusinessReason(business.Status, business.Message)}
	case errors.As(err, &exception):
		code = wire.CodeOf(exception.Kind)
	}
	return &breezeway.CallError{Code: code, Reason: reasonOf(m, err)}
}

// failureOf returns the error of a call, by what the session reports.
func failureOf(err error) error {
	var failed *breezeway.CallError
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Code {
	case wire.BusinessCode:
		status, message := wire.ParseBusinessReason(failed.Reason)
		return &BusinessError{Status: status, Message: message}
	case breezeway.CodeDeadlinePassed:
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	case breezeway.CodeCancelled:
		return fmt.Errorf("%w: %w", context.Canceled, err)
	}
	if kind, is := wire.KindOf(failed.Code); is {
		return &Exception{Kind: kind, Message: failed.Reason}
	}
	return err
}

var errOutcome = &Exception{Kind: KindProtocolError, Message: "the stream ended in an unknown way"}

// Names of a business error's parts on a stream.
const (
	businessStatus  = "biz-status"
	businessMessage = "biz-message"
	businessExtra   = "biz-extra"
)

// encodeOutcome returns the last message of a stream whose handler has returned err. Result is the
// method's, by which declared exceptions are found.
func encodeOutcome(m Method, err error, result Result) ([]byte, error) {
	var business *BusinessError
	if errors.As(err, &business) && business.Status != 0 {
		return encodeBusiness(business)
	}
	if result != nil && result.SetErr(err) {
		return append([]byte{wire.OutcomeMark, wire.OutcomeThrown},
			thrift.Marshal(result)...), nil
	}
	kind, message := int32(KindInternalError), reasonOf(m, err)
	var exception *Exception
	if errors.As(err, &exception) {
		kind = exception.Kind
	}
	b := make([]byte, 2+3+4+len(message)+3+4+1)
	b[0], b[1] = wire.OutcomeMark, wire.OutcomeFailed
	n := 2 + thrift.PutHead(b[2:], headMessage)
	n += thrift.PutString(b[n:], message)
	n += thrift.PutHead(b[n:], headKind)
	thrift.PutI32(b[n:], kind)
	return b, nil
}

// Heads of the fields of TApplicationException.
const (
	headMessage = 0x0b0001
	headKind    = 0x080002
)

func encodeBusiness(business *BusinessError) ([]byte, error) {
	pairs := map[string]string{businessStatus: strconv.Itoa(int(business.Status)),
		businessMessage: cut(business.Message, math.MaxUint16)}
	if len(business.Extra) > 0 {
		text, err := json.Marshal(business.Extra)
		if err != nil {
			return nil, err
		}
		pairs[businessExtra] = string(text)
	}
	block, err := wire.EncodePairs(pairs)
	return append([]byte{wire.OutcomeMark, wire.OutcomeBusiness}, block...), err
}

// cut returns the characters of a text that n bytes have room for.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// decodeOutcome returns the error that a stream ended with. Result is the method's, to which a
// declared exception is read.
func decodeOutcome(message []byte, result Result) error {
	if len(message) < 2 {
		return errOutcome
	}
	rest := message[2:]
	switch message[1] {
	case wire.OutcomeThrown:
		if err := thrift.Unmarshal(rest, result); err != nil {
			return errOutcome
		}
		if err := result.Err(); err != nil {
			return err
		}
	case wire.OutcomeFailed:
		return decodeException(rest)
	case wire.OutcomeBusiness:
		return decodeBusiness(rest)
	}
	return errOutcome
}

func decodeException(message []byte) error {
	exception := new(Exception)
	r := thrift.NewReader(message)
	r.Begin()
	for head := r.Head(); head != 0; head = r.Head() {
		switch head {
		case headMessage:
			exception.Message = r.Text()
		case headKind:
			exception.Kind = r.I32()
		default:
			r.Skip(head)
		}
	}
	if n, err := r.End(); err != nil || n < len(message) {
		return errOutcome
	}
	return exception
}

func decodeBusiness(block []byte) error {
	pairs, err := wire.DecodePairs(block)
	if err != nil {
		return errOutcome
	}
	status, err := strconv.ParseInt(pairs[businessStatus], 10, 32)
	if err != nil || status == 0 {
		return errOutcome
	}
	business := &BusinessError{Status: int32(status), Message: pairs[businessMessage]}
	if text, has := pairs[businessExtra]; has {
		if json.Unmarshal([]byte(text), &business.Extra) != nil {
			return errOutcome
		}
	}
	return business
}
