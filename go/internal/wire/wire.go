// Package wire holds the forms of docs/services.md: how Thrift services travel in sessions.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// Number is the number of services in a session's hello.
const Number = 1

// Kinds of Thrift's application exceptions that codes or rules name.
const (
	UnknownMethod      = 1
	InvalidMessageType = 2
	MissingResult      = 5
	InternalError      = 6
	ProtocolError      = 7
)

// A server's last message on a stream that failed begins with the mark, which begins no struct, and
// one of these.
const (
	OutcomeMark     = 0xff
	OutcomeThrown   = 0
	OutcomeFailed   = 1
	OutcomeBusiness = 2
)

// Prefixes of the names of metadata.
const (
	Transit  = "RPC_TRANSIT_"
	Persist  = "RPC_PERSIST_"
	backward = "RPC_BACKWARD_"
)

// Tag returns the number of a method: FNV-1a of "service.method" in 32 bits.
func Tag(service, method string) uint32 {
	const offset, dot = 0x811c9dc5, "."
	return fnv1a(fnv1a(fnv1a(offset, service), dot), method)
}

// NoSuchMethod returns the failure of a call that no service has a method for. It names the
// services, which a server lists nowhere else.
func NoSuchMethod(services []string) *breezeway.CallError {
	served := "nothing is served here"
	if len(services) > 0 {
		served = "served here: " + strings.Join(services, ", ")
	}
	return &breezeway.CallError{Code: breezeway.CodeNoSuchMethod,
		Reason: "no service here has such a method; " + served}
}

func fnv1a(hash uint32, text string) uint32 {
	const prime = 0x01000193
	for i := range len(text) {
		hash = (hash ^ uint32(text[i])) * prime
	}
	return hash
}

var (
	errNoPairs = errors.New("the metadata does not consist of pairs of names and values")
	// ErrLong is returned for metadata with a name or value longer than 65535 bytes.
	ErrLong = errors.New("a name or value of the metadata is longer than 65535 bytes")
)

// EncodePairs returns the metadata block of names and values; nil if there are none.
func EncodePairs(pairs map[string]string) (block []byte, err error) {
	for name, value := range pairs {
		for _, text := range []string{name, value} {
			if len(text) > math.MaxUint16 {
				return nil, ErrLong
			}
			block = binary.BigEndian.AppendUint16(block, uint16(len(text)))
			block = append(block, text...)
		}
	}
	return block, nil
}

// DecodePairs returns the names and values of a metadata block. The last value of a name counts.
func DecodePairs(block []byte) (map[string]string, error) {
	pairs := map[string]string{}
	for first := true; first || len(block) > 0; first = false {
		var texts [2]string
		for i := range texts {
			if len(block) < 2 {
				return nil, errNoPairs
			}
			length := int(binary.BigEndian.Uint16(block))
			if block = block[2:]; len(block) < length {
				return nil, errNoPairs
			}
			texts[i], block = string(block[:length]), block[length:]
		}
		pairs[texts[0]] = texts[1]
	}
	return pairs, nil
}

// WithoutBackward returns a reply's names and values without the prefix that some peers write.
func WithoutBackward(pairs map[string]string) map[string]string {
	bare := maps.Clone(pairs)
	for name, value := range pairs {
		if rest, has := strings.CutPrefix(name, backward); has {
			delete(bare, name)
			bare[rest] = value
		}
	}
	return bare
}

// businessNumber is the application's number of a business error, which no kind of exception has.
const businessNumber = math.MaxUint16

// BusinessCode is the code of a call that fails by a business error.
var BusinessCode = breezeway.ApplicationCode(businessNumber)

// CodeOf returns the code of a kind of Thrift's exceptions, for some of which the transport has
// codes of its own.
func CodeOf(kind int32) breezeway.Code {
	switch {
	case kind == UnknownMethod:
		return breezeway.CodeNoSuchMethod
	case kind == InternalError || kind < 0 || kind >= businessNumber:
		return breezeway.CodeFailed
	}
	return breezeway.ApplicationCode(uint16(kind))
}

// KindOf returns the kind of exception that a code means; false for codes that are the transport's
// alone.
func KindOf(code breezeway.Code) (int32, bool) {
	switch code {
	case breezeway.CodeNoSuchMethod:
		return UnknownMethod, true
	case breezeway.CodeFailed, breezeway.CodePanicked, breezeway.CodeNoMemory:
		return InternalError, true
	}
	kind, is := code.Application()
	return int32(kind), is
}

// BusinessReason returns the text of a call that fails by a business error.
func BusinessReason(status int32, message string) string {
	return fmt.Sprintf("%d %s", status, message)
}

// ParseBusinessReason returns the status and the message of a failed call's text.
func ParseBusinessReason(reason string) (status int32, message string) {
	number, message, _ := strings.Cut(reason, " ")
	return parseStatus(number), message
}

func parseStatus(text string) int32 {
	status, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(status)
}
