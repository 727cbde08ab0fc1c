package breezewaykitex

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/cloudwego/gopkg/protocol/thrift"
)

// shape is the form that the bytes of a type must have. Generated code allocates by the sizes that
// the bytes have, ignores the types of elements, and recurses without a limit: it reads only bytes
// that have the form of its type.
type shape struct {
	wire      thrift.TType // LIST for sets too; STOP for types that Thrift has not, which fail
	fields    map[int16]*shape
	indices   map[int16]int // of Go's fields
	key, elem *shape
}

// maxDepth is how deep structs and containers may nest, as in gopkg's own reader.
const maxDepth = 64

var (
	errDeep    = errors.New("the struct is nested too deeply")
	errElement = errors.New("a container has elements of another type")
	errSize    = errors.New("a container has more elements than there are bytes")
)

// readStruct reads a value, a pointer to a struct, which is all of the bytes.
func readStruct(bytes []byte, value thrift.FastCodec) error {
	if err := validate(bytes, value); err != nil {
		return err
	}
	_, err := value.FastRead(bytes)
	return err
}

// validate returns an error unless the bytes are one struct of the form of a value.
func validate(bytes []byte, value any) (err error) {
	defer func() {
		if reason := recover(); reason != nil { // gopkg's Skip panics at types beyond 127.
			err = fmt.Errorf("an unknown type of a field: %v", reason)
		}
	}()
	length, err := shapeOf(reflect.TypeOf(value)).length(bytes, maxDepth)
	if err == nil && length < len(bytes) {
		err = fmt.Errorf("%d bytes behind the struct", len(bytes)-length)
	}
	return err
}

var shapes sync.Map // of *shape, by reflect.Type

func shapeOf(of reflect.Type) *shape {
	if found, has := shapes.Load(of); has {
		return found.(*shape)
	}
	built := newShape(of, map[reflect.Type]*shape{})
	shapes.Store(of, built)
	return built
}

// newShape returns the shape of a type. Known has those of the structs around it.
func newShape(of reflect.Type, known map[reflect.Type]*shape) *shape {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() {
	case reflect.Struct:
		return structShape(of, known)
	case reflect.Map:
		return &shape{wire: thrift.MAP, key: newShape(of.Key(), known),
			elem: newShape(of.Elem(), known)}
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return &shape{wire: thrift.STRING}
		}
		return &shape{wire: thrift.LIST, elem: newShape(of.Elem(), known)}
	case reflect.Int64:
		if of != reflect.TypeFor[int64]() {
			return &shape{wire: thrift.I32} // An enum.
		}
	}
	return &shape{wire: scalars[of.Kind()]}
}

var scalars = map[reflect.Kind]thrift.TType{reflect.Bool: thrift.BOOL, reflect.Int8: thrift.BYTE,
	reflect.Int16: thrift.I16, reflect.Int32: thrift.I32, reflect.Int64: thrift.I64,
	reflect.Float64: thrift.DOUBLE, reflect.String: thrift.STRING}

// structShape returns the shape of a struct, whose tags are as `thrift:"name,1,optional"`.
func structShape(of reflect.Type, known map[reflect.Type]*shape) *shape {
	if found, has := known[of]; has {
		return found
	}
	built := &shape{wire: thrift.STRUCT, fields: map[int16]*shape{}, indices: map[int16]int{}}
	known[of] = built
	for i := range of.NumField() {
		columns := strings.Split(of.Field(i).Tag.Get("thrift"), ",")
		if len(columns) < 2 {
			continue
		}
		if number, err := strconv.ParseInt(columns[1], 10, 16); err == nil {
			built.fields[int16(number)] = newShape(of.Field(i).Type, known)
			built.indices[int16(number)] = i
		}
	}
	return built
}

// is returns true if a value of a type on the wire is of this shape.
func (s *shape) is(wire thrift.TType) bool {
	return wire == s.wire || wire == thrift.SET && s.wire == thrift.LIST
}

// length returns how many bytes a value takes that the bytes begin with.
func (s *shape) length(bytes []byte, depth int) (int, error) {
	if depth == 0 {
		return 0, errDeep
	}
	switch s.wire {
	case thrift.STRUCT:
		return s.structLength(bytes, depth)
	case thrift.LIST:
		wire, size, begin, err := thrift.Binary.ReadListBegin(bytes)
		if err != nil {
			return 0, err
		}
		if size > 0 && !s.elem.is(wire) {
			return 0, errElement
		}
		return elements(bytes, begin, size, depth, s.elem)
	case thrift.MAP:
		key, value, size, begin, err := thrift.Binary.ReadMapBegin(bytes)
		if err != nil {
			return 0, err
		}
		if size > 0 && !(s.key.is(key) && s.elem.is(value)) {
			return 0, errElement
		}
		return elements(bytes, begin, size, depth, s.key, s.elem)
	}
	return thrift.Binary.Skip(bytes, s.wire)
}

func (s *shape) structLength(bytes []byte, depth int) (length int, err error) {
	for {
		wire, number, n, err := thrift.Binary.ReadFieldBegin(bytes[length:])
		length += n
		if err != nil || wire == thrift.STOP {
			return length, err
		}
		if field, has := s.fields[number]; has && (field.is(wire) || field.wire == thrift.STOP) {
			n, err = field.length(bytes[length:], depth-1)
		} else {
			n, err = thrift.Binary.Skip(bytes[length:], wire)
		}
		if err != nil {
			return length, err
		}
		if length += n; length > len(bytes) {
			return length, errSize
		}
	}
}

// elements returns the length of a container, whose elements, each of the shapes in turn, begin
// behind its head. The least element takes a byte.
func elements(bytes []byte, length, size, depth int, shapes ...*shape) (int, error) {
	if size > len(bytes)-length {
		return length, errSize
	}
	for range size {
		for _, element := range shapes {
			n, err := element.length(bytes[length:], depth-1)
			if err != nil {
				return length, err
			}
			length += n
		}
	}
	return length, nil
}
