package breezewaykitex

import (
	"errors"
	"reflect"

	"github.com/bytedance/gopkg/lang/dirtmake"
	"github.com/cloudwego/gopkg/protocol/thrift"
	"github.com/cloudwego/gopkg/unsafex"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

const (
	// large is the length from which a message is searched for a long string. The value keeps the
	// message's copy as that string, which generated code would copy twice.
	large = 32 << 10
	// maxPath is how many structs, one within the other, may lie around the string.
	maxPath = 3
)

var errUnread = errors.New("kitex: generated code has left out the struct of a string")

// readLarge reads a value, which is all of a message. The value keeps nothing of the message.
func readLarge(message *breezeway.Message, value thrift.FastCodec) error {
	bytes, err := message.AppendTo(dirtmake.Bytes(0, message.Len()))
	if err != nil {
		return err
	}
	message.Release()
	return readLong(bytes, value)
}

// readLong reads a value, which is all of the bytes. They belong to the value from now on.
func readLong(bytes []byte, value thrift.FastCodec) error {
	if err := validate(bytes, value); err != nil {
		return err
	}
	long := shapeOf(reflect.TypeOf(value)).longString(bytes, len(bytes)/2, maxPath)
	if long.path == nil {
		_, err := value.FastRead(bytes)
		return err
	}
	const length = 4 // of the string's length
	rest := append(make([]byte, 0, len(bytes)-(long.end-long.begin)+length), bytes[:long.begin]...)
	rest = append(append(rest, make([]byte, length)...), bytes[long.end:]...)
	if _, err := value.FastRead(rest); err != nil {
		return err
	}
	return long.set(value, bytes[long.begin+length:long.end:long.end])
}

// longString is a string within the bytes of a value. It begins with its length.
type longString struct {
	begin, end int
	// path has the indices of Go's fields that lead to it, of the outermost struct first.
	path []int
}

// longString returns a string of at least so many bytes in those of a struct, which are valid, or
// one without a path. It looks into structs that lie so deep. Of fields with one number only the
// last one counts, and it returns none of those before.
func (s *shape) longString(bytes []byte, least, depth int) (found longString) {
	var foundIn int16
	for at := 0; ; {
		wire, number, n, err := thrift.Binary.ReadFieldBegin(bytes[at:])
		at += n
		if err != nil || wire == thrift.STOP {
			return found
		}
		field, isKnown := s.fields[number]
		if isKnown = isKnown && field.is(wire); isKnown {
			n, err = field.length(bytes[at:], maxDepth)
		} else {
			n, err = thrift.Binary.Skip(bytes[at:], wire)
		}
		if err != nil || found.path != nil && number == foundIn {
			return longString{}
		}
		if isKnown && n >= least {
			inner, is := field.longWithin(bytes[at:at+n], least, depth-1)
			if is {
				path := append([]int{s.indices[number]}, inner.path...)
				found, foundIn = longString{at + inner.begin, at + inner.end, path}, number
			}
		}
		at += n
	}
}

// longWithin returns the string that a value is, or a long one in its struct.
func (s *shape) longWithin(bytes []byte, least, depth int) (found longString, is bool) {
	switch {
	case s.wire == thrift.STRING:
		return longString{end: len(bytes)}, true
	case s.wire == thrift.STRUCT && depth > 0:
		found = s.longString(bytes, least, depth)
	}
	return found, found.path != nil
}

// set sets the string's field of a value, which has been read without it.
func (l *longString) set(value any, bytes []byte) error {
	field := reflect.ValueOf(value)
	for _, index := range append(l.path, -1) {
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		if !field.IsValid() {
			return errUnread
		}
		if index >= 0 {
			field = field.Field(index)
		}
	}
	if field.Kind() == reflect.String {
		field.SetString(unsafex.BinaryToString(bytes))
	} else {
		field.SetBytes(bytes)
	}
	return nil
}
