package breezewaygrpc

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/metadata"
)

const (
	timeoutName  = "grpc-timeout"
	encodingName = "grpc-encoding"
	acceptName   = "grpc-accept-encoding"
	statusName   = "grpc-status"
	messageName  = "grpc-message"
	detailsName  = "grpc-status-details-bin"
	binarySuffix = "-bin"
)

// isReserved returns true for a name that is gRPC's own, or a pseudo header of HTTP/2.
func isReserved(name string) bool {
	switch name {
	case contentType, "user-agent", "te", "grpc-message-type", encodingName, messageName,
		statusName, timeoutName:
		return true
	}
	return strings.HasPrefix(name, ":")
}

// appendMetadata appends metadata as fields. It leaves reserved names out.
func appendMetadata(fields []field, md metadata.MD) ([]field, error) {
	for name, values := range md {
		if isReserved(name) {
			continue
		}
		if !isMetadataName(name) {
			return nil, fmt.Errorf("the metadata name %q has characters other than a-z, 0-9, "+
				"underscores, hyphens and dots", name)
		}
		for _, value := range values {
			if strings.HasSuffix(name, binarySuffix) {
				value = base64.RawStdEncoding.EncodeToString([]byte(value))
			} else if !isPrintable(value) {
				return nil, fmt.Errorf("the metadata of %q is not printable ASCII", name)
			}
			fields = append(fields, field{name, value})
		}
	}
	return fields, nil
}

// sendable returns the pairs of metadata that can be sent.
func sendable(md metadata.MD) metadata.MD {
	valid := make(metadata.MD, len(md))
	for name, values := range md {
		for _, value := range values {
			if _, err := appendMetadata(nil, metadata.MD{name: {value}}); err == nil {
				valid[name] = append(valid[name], value)
			}
		}
	}
	return valid
}

// metadataOf returns fields as metadata, without reserved names but for the content type and the
// user agent.
func metadataOf(fields []field) (metadata.MD, error) {
	md := make(metadata.MD, len(fields))
	for _, f := range fields {
		if isReserved(f.name) && f.name != contentType && f.name != "user-agent" {
			continue
		}
		value := f.value
		if strings.HasSuffix(f.name, binarySuffix) {
			bytes, err := decodeBinary(value)
			if err != nil {
				return nil, fmt.Errorf("the binary metadata of %q is not base64: %w", f.name, err)
			}
			value = string(bytes)
		}
		md[f.name] = append(md[f.name], value)
	}
	return md, nil
}

// valueOf returns the first value of a name, or "".
func valueOf(fields []field, name string) string {
	for _, f := range fields {
		if f.name == name {
			return f.value
		}
	}
	return ""
}

// decodeBinary decodes base64 with or without padding.
func decodeBinary(value string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
}

func isMetadataName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.'
	}) < 0
}

func isPrintable(value string) bool {
	return strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// encodeMessage returns the words of a status as a header's value, in percent-encoding.
func encodeMessage(words string) string {
	if !utf8.ValidString(words) {
		words = strings.ToValidUTF8(words, string(utf8.RuneError))
	}
	if isPrintable(words) && !strings.Contains(words, "%") {
		return words
	}
	var value strings.Builder
	for i := range len(words) {
		if b := words[i]; b < ' ' || b > '~' || b == '%' {
			fmt.Fprintf(&value, "%%%02X", b)
		} else {
			value.WriteByte(b)
		}
	}
	return value.String()
}

// decodeMessage returns the words of encodeMessage. It keeps what is not percent-encoded.
func decodeMessage(value string) string {
	var words strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) {
			if b, err := strconv.ParseUint(value[i+1:i+3], 16, 8); err == nil {
				words.WriteByte(byte(b))
				i += 2
				continue
			}
		}
		words.WriteByte(value[i])
	}
	return words.String()
}

const mostDigits = 99_999_999

var timeUnits = []struct {
	letter byte
	unit   time.Duration
}{{'n', time.Nanosecond}, {'u', time.Microsecond}, {'m', time.Millisecond}, {'S', time.Second},
	{'M', time.Minute}, {'H', time.Hour}}

// encodeTimeout formats a time in the smallest unit for which eight digits suffice, rounded down.
func encodeTimeout(left time.Duration) string {
	left = max(left, 0)
	for _, u := range timeUnits {
		if number := left / u.unit; number <= mostDigits {
			return strconv.FormatInt(int64(number), 10) + string(u.letter)
		}
	}
	return "99999999H" // Not reached: no time.Duration is as long.
}

// decodeTimeout reads at most eight digits and a unit. An invalid value counts as none.
func decodeTimeout(value string) (left time.Duration, has bool) {
	if len(value) < 2 || len(value) > 9 {
		return 0, false
	}
	digits, letter := value[:len(value)-1], value[len(value)-1]
	number, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return 0, false
	}
	for _, u := range timeUnits {
		if u.letter == letter {
			const longest = 1<<63 - 1
			if number > uint64(longest/u.unit) {
				return longest, true
			}
			return time.Duration(number) * u.unit, true
		}
	}
	return 0, false
}
