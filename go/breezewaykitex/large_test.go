package breezewaykitex

import (
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudwego/gopkg/protocol/thrift"

	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/lists"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/room"
)

// field returns a field of a struct with these bytes as its value.
func field(wire thrift.TType, number uint16, value ...string) string {
	return string(binary.BigEndian.AppendUint16([]byte{byte(wire)}, number)) +
		strings.Join(value, "")
}

// sized returns a string with its length.
func sized(value string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(value)))) + value
}

func TestLargeStructsAreReadAsGeneratedCodeReadsThem(t *testing.T) {
	const stop = "\x00"
	long, short := strings.Repeat("long", 1000), "short"
	line := func(text string) string {
		return field(thrift.STRING, 1, sized("Ada")) + field(thrift.STRING, 2, sized(text)) + stop
	}
	say := func() thrift.FastCodec { return room.NewRoomSayArgs() }
	bodies := func() thrift.FastCodec { return echo.NewEchoEchoArgs() }
	put := func() thrift.FastCodec { return lists.NewListsPutArgs() }
	for name, row := range map[string]struct {
		bytes string
		value func() thrift.FastCodec
		keeps bool // the bytes
	}{
		"binary":      {field(thrift.STRING, 1, sized(long)) + stop, bodies, true},
		"no string":   {stop, bodies, false},
		"empty":       {field(thrift.STRING, 1, sized("")) + stop, bodies, false},
		"in a struct": {field(thrift.STRUCT, 1, line(long)) + stop, say, true},
		"unknown field": {field(thrift.STRING, 9, sized(long)) +
			field(thrift.STRING, 1, sized(short)) + stop, bodies, false},
		"another type": {field(thrift.LIST, 1, "\x03", sized(long)) + stop, bodies, false},
		"short behind long": {field(thrift.STRING, 1, sized(long)) +
			field(thrift.STRING, 1, sized(short)) + stop, bodies, false},
		"long behind short": {field(thrift.STRING, 1, sized(short)) +
			field(thrift.STRING, 1, sized(long)) + stop, bodies, true},
		"short struct behind long": {field(thrift.STRUCT, 1, line(long)) +
			field(thrift.STRUCT, 1, line(short)) + stop, say, false},
		"long struct behind short": {field(thrift.STRUCT, 1, line(short)) +
			field(thrift.STRUCT, 1, line(long)) + stop, say, true},
		"in a list": {field(thrift.STRUCT, 1, field(thrift.LIST, 2, "\x0b\x00\x00\x00\x01",
			sized(long))+stop) + stop, put, false},
	} {
		bytes, expected, value := []byte(row.bytes), row.value(), row.value()
		if err := readStruct(bytes, expected); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := readLong(bytes, value); err != nil || !reflect.DeepEqual(value, expected) {
			t.Errorf("%s: %v is read, and not %v (%v)", name, value, expected, err)
		}
		clear(bytes)
		if keeps := !reflect.DeepEqual(value, expected); keeps != row.keeps {
			t.Errorf("%s: the value keeps the bytes: %t", name, keeps)
		}
	}
}

func TestLargeMalformedStructIsNotRead(t *testing.T) {
	long := strings.Repeat("long", 1000)
	for name, bytes := range map[string]string{
		"cut":          field(thrift.STRING, 1, sized(long)),
		"bytes behind": field(thrift.STRING, 1, sized(long)) + "\x00\x00",
		"long length":  field(thrift.STRING, 1, "\x00\x00\x0f\xa1", long) + "\x00",
	} {
		if readLong([]byte(bytes), echo.NewEchoEchoArgs()) == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}
