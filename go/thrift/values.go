package thrift

import (
	"encoding/hex"
	"fmt"
)

// A UUID is a value of Thrift's type uuid.
type UUID [16]byte

// String returns the UUID in its usual form, such as "6ba7b810-9dad-11d1-80b4-00c04fd430c8".
func (u UUID) String() string {
	text := hex.EncodeToString(u[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// A Pair is a pair of a map whose keys no map of Go can have: structs and containers.
type Pair[K, V any] struct {
	Key   K
	Value V
}

// Ptr returns a pointer to a value, for optional fields.
func Ptr[T any](value T) *T { return &value }

// EnumText returns the text for a value of an enum without a name in the IDL, such as "Level(7)".
func EnumText(enum string, value int32) string { return fmt.Sprintf("%s(%d)", enum, value) }

// EnumError returns the error of a name that is no value of an enum.
func EnumError(enum, name string) error {
	return fmt.Errorf("thrift: %q is no value of %s", name, enum)
}

// ErrorText returns the text of an exception without a message: its name, and the names and values
// of its fields in turn.
func ErrorText(exception string, fields ...any) string {
	text := exception + "{"
	for i := 0; i+1 < len(fields); i += 2 {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprintf("%s:%+v", fields[i], fields[i+1])
	}
	return text + "}"
}
