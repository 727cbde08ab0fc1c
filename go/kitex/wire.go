package kitex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// rpcService is the number of docs/services.md in a session's hello.
const rpcService = 1

// methodTag returns the number of a method: FNV-1a of "service.method" in 32 bits.
func methodTag(service, method string) uint32 {
	const offset, dot = 0x811c9dc5, "."
	return fnv1a(fnv1a(fnv1a(offset, service), dot), method)
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
	errLong    = errors.New("a name or value of the metadata is longer than 65535 bytes")
)

// encodePairs returns the metadata block of names and values; nil if there are none.
func encodePairs(pairs map[string]string) (block []byte, err error) {
	for name, value := range pairs {
		for _, text := range []string{name, value} {
			if len(text) > math.MaxUint16 {
				return nil, errLong
			}
			block = binary.BigEndian.AppendUint16(block, uint16(len(text)))
			block = append(block, text...)
		}
	}
	return block, nil
}

// decodePairs returns the names and values of a metadata block. The last value of a name counts.
func decodePairs(block []byte) (map[string]string, error) {
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

// backward begins, in some peers' replies, the names of values that go one call back.
const backward = "RPC_BACKWARD_"

// withoutBackward returns a reply's names and values as Kitex writes them, without a prefix.
func withoutBackward(pairs map[string]string) map[string]string {
	bare := maps.Clone(pairs)
	for name, value := range pairs {
		if rest, has := strings.CutPrefix(name, backward); has {
			delete(bare, name)
			bare[rest] = value
		}
	}
	return bare
}

// businessCode is the application's code of a business error, which no kind of exception has.
const businessCode = math.MaxUint16

// codeOf returns the code of a kind of Thrift's exceptions, for some of which the transport has
// codes of its own.
func codeOf(kind int32) breezeway.Code {
	switch {
	case kind == remote.UnknownMethod:
		return breezeway.CodeNoSuchMethod
	case kind == remote.InternalError || kind < 0 || kind >= businessCode:
		return breezeway.CodeFailed
	}
	return breezeway.ApplicationCode(uint16(kind))
}

// kindOf returns the kind of exception that a code means; false for codes that are the transport's
// alone.
func kindOf(code breezeway.Code) (int32, bool) {
	switch code {
	case breezeway.CodeNoSuchMethod:
		return remote.UnknownMethod, true
	case breezeway.CodeFailed, breezeway.CodePanicked, breezeway.CodeNoMemory:
		return remote.InternalError, true
	}
	kind, is := code.Application()
	return int32(kind), is
}

// reasonOf returns the text of a call that fails by a business error.
func reasonOf(err kerrors.BizStatusErrorIface) string {
	return fmt.Sprintf("%d %s", err.BizStatusCode(), err.BizMessage())
}

// businessError returns the business error of a failed call's text.
func businessError(reason string) kerrors.BizStatusErrorIface {
	status, message, _ := strings.Cut(reason, " ")
	code, err := strconv.ParseInt(status, 10, 32)
	if err != nil {
		code = 0
	}
	return kerrors.NewBizStatusError(int32(code), message)
}
