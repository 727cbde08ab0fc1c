package breezewaygrpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// longestBlock is the length of the longest metadata block of a call.
const longestBlock = 65535

// Flags of a block (docs/grpc-reference.md, "Blocks").
const (
	isGRPC        = 1 // content-type: application/grpc is left out
	takesTrailers = 2 // te: trailers is left out
	hasTrailers   = 4 // the block holds all of a response's headers, and its trailers
)

const (
	contentType = "content-type"
	typeOfGRPC  = "application/grpc"
	statusLen   = 2
	prefixLen   = 2 // of a path, and of the headers in front of trailers
	lensLen     = 4 // of a field's name and value
)

// A field is a header or a trailer as it travels.
type field struct{ name, value string }

var (
	errShort  = errors.New("a metadata block breaks off")
	errPath   = errors.New("a metadata block has no valid path")
	errStatus = errors.New("a metadata block has no valid status")
	errField  = errors.New("a metadata block has a name or a value that no header may have")
)

type flagsError byte

func (e flagsError) Error() string {
	return fmt.Sprintf("a metadata block has flags that this version does not know: %#02x",
		byte(e))
}

type tooLongError int

func (e tooLongError) Error() string {
	return fmt.Sprintf("the metadata takes %d bytes, where %d are the most", int(e), longestBlock)
}

func checkLength(block []byte) ([]byte, error) {
	if len(block) > longestBlock {
		return nil, tooLongError(len(block))
	}
	return block, nil
}

// appendFields appends fields. Lengths that do not fit make the block too long as a whole.
func appendFields(block []byte, fields []field) []byte {
	for _, f := range fields {
		block = binary.LittleEndian.AppendUint16(block, uint16(len(f.name)))
		block = binary.LittleEndian.AppendUint16(block, uint16(len(f.value)))
		block = append(append(block, f.name...), f.value...)
	}
	return block
}

// leaveOut returns the fields without those that the flags stand for.
func leaveOut(fields []field) (flags byte, rest []field) {
	if len(fields) > 0 && fields[0] == (field{contentType, typeOfGRPC}) {
		return isGRPC, fields[1:]
	}
	return 0, fields
}

// encodeRequest returns the first block of a request. A content type is the first of the fields.
func encodeRequest(path string, fields []field) ([]byte, error) {
	flags, fields := leaveOut(fields)
	block := make([]byte, 0, 128)
	block = append(block, flags|takesTrailers)
	block = binary.LittleEndian.AppendUint16(block, uint16(len(path)))
	block = append(block, path...)
	return checkLength(appendFields(block, fields))
}

// encodeResponse returns the first block of a response, with its trailers if it is complete.
func encodeResponse(headers, trailers []field, isComplete bool) ([]byte, error) {
	flags, headers := leaveOut(headers)
	block := make([]byte, 1, 64)
	block = binary.LittleEndian.AppendUint16(block, http.StatusOK)
	if !isComplete {
		block[0] = flags
		return checkLength(appendFields(block, headers))
	}
	block[0] = flags | hasTrailers
	at := len(block)
	block = appendFields(append(block, 0, 0), headers)
	binary.LittleEndian.PutUint16(block[at:], uint16(len(block)-at-prefixLen))
	return checkLength(appendFields(block, trailers))
}

// encodeTrailers returns the last block of a response that has begun.
func encodeTrailers(trailers []field) ([]byte, error) {
	return checkLength(appendFields(make([]byte, 0, 32), trailers))
}

// decodeRequest reads the first block of a request.
func decodeRequest(block []byte) (path string, fields []field, err error) {
	flags, rest, err := takeFlags(block, isGRPC|takesTrailers)
	if err != nil {
		return "", nil, err
	}
	bytes, rest, err := takePrefixed(rest)
	if err != nil {
		return "", nil, err
	}
	if path = string(bytes); !isPath(path) {
		return "", nil, errPath
	}
	fields, err = decodeFields(rest, putBack(flags))
	return path, fields, err
}

// A response is the content of the first block of a response.
type response struct {
	status   int
	headers  []field
	trailers []field // nil unless the block has them
}

// decodeResponse reads the first block of a response.
func decodeResponse(block []byte) (r response, err error) {
	flags, rest, err := takeFlags(block, isGRPC|takesTrailers|hasTrailers)
	if err != nil {
		return r, err
	}
	if len(rest) < statusLen {
		return r, errShort
	}
	r.status = int(binary.LittleEndian.Uint16(rest))
	if r.status < 100 || r.status > 999 {
		return r, errStatus
	}
	headers := rest[statusLen:]
	if flags&hasTrailers != 0 {
		if headers, rest, err = takePrefixed(headers); err != nil {
			return r, err
		}
		if r.trailers, err = decodeFields(rest, []field{}); err != nil {
			return r, err
		}
	}
	r.headers, err = decodeFields(headers, putBack(flags))
	return r, err
}

// decodeTrailers reads the last block of a response that has begun.
func decodeTrailers(block []byte) ([]field, error) { return decodeFields(block, []field{}) }

func takeFlags(block []byte, known byte) (flags byte, rest []byte, err error) {
	switch {
	case len(block) == 0:
		return 0, nil, errShort
	case block[0]&^known != 0:
		return 0, nil, flagsError(block[0])
	}
	return block[0], block[1:], nil
}

// takePrefixed takes as many bytes as the two in front of them count.
func takePrefixed(block []byte) (taken, rest []byte, err error) {
	if len(block) < prefixLen {
		return nil, nil, errShort
	}
	length := int(binary.LittleEndian.Uint16(block))
	if rest = block[prefixLen:]; len(rest) < length {
		return nil, nil, errShort
	}
	return rest[:length], rest[length:], nil
}

func putBack(flags byte) (fields []field) {
	if flags&isGRPC != 0 {
		fields = append(fields, field{contentType, typeOfGRPC})
	}
	if flags&takesTrailers != 0 {
		fields = append(fields, field{"te", "trailers"})
	}
	return fields
}

// decodeFields appends the fields of a block.
func decodeFields(block []byte, fields []field) ([]field, error) {
	for len(block) > 0 {
		if len(block) < lensLen {
			return nil, errShort
		}
		nameLen := int(binary.LittleEndian.Uint16(block))
		valueLen := int(binary.LittleEndian.Uint16(block[2:]))
		if block = block[lensLen:]; len(block) < nameLen+valueLen {
			return nil, errShort
		}
		f := field{string(block[:nameLen]), string(block[nameLen:][:valueLen])}
		if !isName(f.name) || !isValue(f.value) {
			return nil, errField
		}
		f.name = strings.ToLower(f.name)
		fields, block = append(fields, f), block[nameLen+valueLen:]
	}
	return fields, nil
}

// isPath returns true for "/" and visible ASCII characters without "#", "?", "<", ">" and "`".
func isPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.ContainsAny(path, "#?<>`") &&
		strings.IndexFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f }) < 0
}

// isName returns true for a token of RFC 9110, section 5.6.2.
func isName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		isLetter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !isLetter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}) < 0
}

// isValue returns true for a field value of RFC 9110, section 5.5, also with spaces around it.
func isValue(value string) bool {
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}
