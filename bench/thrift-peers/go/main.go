// Command thrift-fixtures prints random structs as gopkg (the codec of Kitex) and Apache Thrift for Go encode them, one line of hexadecimal digits each.
//
// It ends with an error if the two differ. The values follow from the line's number alone: tests/go_fixtures.rs makes the same.
// With the argument "pass" it prints the structs that it reads, as Apache Thrift for Go writes them again.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log"
	"math"
	"os"

	apache "github.com/apache/thrift/lib/go/thrift"
	"github.com/cloudwego/gopkg/protocol/thrift"
)

const lines = 200

// random is SplitMix64.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func (r *random) below(limit uint64) int { return int(r.next() % limit) }

func (r *random) text() string {
	letters := []rune("abcxyz é方😀")
	text := make([]rune, r.below(30))
	for i := range text {
		text[i] = letters[r.below(uint64(len(letters)))]
	}
	return string(text)
}

// output is an output that both libraries can write to.
type output interface {
	field(kind byte, id int16)
	stop()
	list(element byte, size int)
	set(element byte, size int)
	mapping(key, value byte, size int)
	bool(v bool)
	i8(v int8)
	i16(v int16)
	i32(v int32)
	i64(v int64)
	double(v float64)
	string(v string)
	binary(v []byte)
}

const (
	typeBool, typeI8, typeDouble, typeI16, typeI32, typeI64 = 2, 3, 4, 6, 8, 10
	typeString, typeStruct, typeMap, typeSet, typeList      = 11, 12, 13, 14, 15
)

// write writes the struct that follows from r.
func write(r random, o output) {
	o.field(typeBool, 1)
	o.bool(r.below(2) == 1)
	o.field(typeI8, 2)
	o.i8(int8(r.next()))
	o.field(typeI16, 3)
	o.i16(int16(r.next()))
	o.field(typeI32, 4)
	o.i32(int32(r.next()))
	o.field(typeI64, 5)
	o.i64(int64(r.next()))
	o.field(typeDouble, 6)
	o.double(math.Float64frombits(r.next()))
	o.field(typeString, 7)
	o.string(r.text())
	o.field(typeString, 8)
	binary := make([]byte, r.below(40))
	for i := range binary {
		binary[i] = byte(r.next())
	}
	o.binary(binary)
	o.field(typeList, 9)
	n := r.below(40)
	o.list(typeI64, n)
	for range n {
		o.i64(int64(r.next()))
	}
	o.field(typeSet, 10)
	n = r.below(20)
	o.set(typeI32, n)
	for range n {
		o.i32(int32(r.next()))
	}
	o.field(typeMap, 11)
	n = r.below(4)
	o.mapping(typeString, typeI64, n)
	for i := range n {
		o.string(fmt.Sprintf("key %d", i))
		o.i64(int64(r.next()))
	}
	o.field(typeList, 12)
	n = r.below(4)
	o.list(typeStruct, n)
	for range n {
		o.field(typeString, 1)
		o.string(r.text())
		if r.below(2) == 1 {
			o.field(typeI32, 2)
			o.i32(int32(r.next()))
		}
		o.stop()
	}
	if r.below(2) == 1 {
		o.field(typeI32, 13)
		o.i32(int32(r.next()))
	}
	o.field(typeList, 14)
	n = r.below(20)
	o.list(typeBool, n)
	for range n {
		o.bool(r.below(2) == 1)
	}
	o.field(typeList, 15)
	n = r.below(4)
	o.list(typeList, n)
	for range n {
		inner := r.below(4)
		o.list(typeString, inner)
		for range inner {
			o.string(r.text())
		}
	}
	o.field(typeList, 16)
	n = r.below(20)
	o.list(typeDouble, n)
	for range n {
		o.double(math.Float64frombits(r.next()))
	}
	o.field(typeMap, 17)
	n = r.below(3)
	o.mapping(typeI32, typeList, n)
	for i := range n {
		o.i32(int32(i))
		inner := r.below(20)
		o.list(typeI16, inner)
		for range inner {
			o.i16(int16(r.next()))
		}
	}
	o.field(typeI16, -5)
	o.i16(int16(r.next()))
	o.stop()
}

// kitex writes with gopkg.
type kitex struct{ buf []byte }

var binary = thrift.BinaryProtocol{}

func (k *kitex) grow(n int) []byte {
	k.buf = append(k.buf, make([]byte, n)...)
	return k.buf[len(k.buf)-n:]
}

func (k *kitex) field(kind byte, id int16) { binary.WriteFieldBegin(k.grow(3), thrift.TType(kind), id) }
func (k *kitex) stop()                     { binary.WriteFieldStop(k.grow(1)) }
func (k *kitex) list(e byte, n int)        { binary.WriteListBegin(k.grow(5), thrift.TType(e), n) }
func (k *kitex) set(e byte, n int)         { binary.WriteSetBegin(k.grow(5), thrift.TType(e), n) }
func (k *kitex) mapping(key, v byte, n int) {
	binary.WriteMapBegin(k.grow(6), thrift.TType(key), thrift.TType(v), n)
}
func (k *kitex) bool(v bool)      { binary.WriteBool(k.grow(1), v) }
func (k *kitex) i8(v int8)        { binary.WriteByte(k.grow(1), v) }
func (k *kitex) i16(v int16)      { binary.WriteI16(k.grow(2), v) }
func (k *kitex) i32(v int32)      { binary.WriteI32(k.grow(4), v) }
func (k *kitex) i64(v int64)      { binary.WriteI64(k.grow(8), v) }
func (k *kitex) double(v float64) { binary.WriteDouble(k.grow(8), v) }
func (k *kitex) string(v string)  { binary.WriteString(k.grow(4+len(v)), v) }
func (k *kitex) binary(v []byte)  { binary.WriteBinary(k.grow(4+len(v)), v) }

// standard writes with Apache Thrift.
type standard struct {
	protocol *apache.TBinaryProtocol
	context  context.Context
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (s *standard) field(kind byte, id int16) {
	check(s.protocol.WriteFieldBegin(s.context, "", apache.TType(kind), id))
}
func (s *standard) stop() { check(s.protocol.WriteFieldStop(s.context)) }
func (s *standard) list(e byte, n int) {
	check(s.protocol.WriteListBegin(s.context, apache.TType(e), n))
}
func (s *standard) set(e byte, n int) { check(s.protocol.WriteSetBegin(s.context, apache.TType(e), n)) }
func (s *standard) mapping(k, v byte, n int) {
	check(s.protocol.WriteMapBegin(s.context, apache.TType(k), apache.TType(v), n))
}
func (s *standard) bool(v bool)      { check(s.protocol.WriteBool(s.context, v)) }
func (s *standard) i8(v int8)        { check(s.protocol.WriteByte(s.context, v)) }
func (s *standard) i16(v int16)      { check(s.protocol.WriteI16(s.context, v)) }
func (s *standard) i32(v int32)      { check(s.protocol.WriteI32(s.context, v)) }
func (s *standard) i64(v int64)      { check(s.protocol.WriteI64(s.context, v)) }
func (s *standard) double(v float64) { check(s.protocol.WriteDouble(s.context, v)) }
func (s *standard) string(v string)  { check(s.protocol.WriteString(s.context, v)) }
func (s *standard) binary(v []byte)  { check(s.protocol.WriteBinary(s.context, v)) }

func main() {
	if len(os.Args) == 2 && os.Args[1] == "pass" {
		pass()
		return
	}
	for seed := range lines {
		var k kitex
		write(random(seed), &k)
		memory := apache.NewTMemoryBuffer()
		s := standard{apache.NewTBinaryProtocolConf(memory, nil), context.Background()}
		write(random(seed), &s)
		if !bytes.Equal(k.buf, memory.Bytes()) {
			log.Fatalf("line %d: gopkg and Apache Thrift differ", seed)
		}
		fmt.Println(hex.EncodeToString(k.buf))
	}
}
