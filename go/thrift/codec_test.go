package thrift_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/idl/containers"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/defaults"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/recursive"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/requiredness"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// values are structs with every type in every place.
func values() []thrift.Struct {
	id := thrift.UUID{1, 2, 15: 16}
	item := func() *containers.Item { return &containers.Item{ID: 7, Name: "seven"} }
	return []thrift.Struct{
		&containers.Lists{
			Bools: []bool{true, false}, Bytes: []int8{-1, 2}, Shorts: []int16{-300, 4},
			Ints: []int32{1, 2, math.MinInt32}, Longs: []int64{-1, math.MaxInt64},
			Doubles: []float64{0.5, math.Inf(1)}, Strings: []string{"a", "", "楼台"},
			Binaries: [][]byte{{0, 255}, {}}, Uuids: []thrift.UUID{id},
			Colours: []containers.Colour{containers.Colour_BLUE, 99},
			Items:   []*containers.Item{item(), {}}, Nested: [][]int32{{1}, {}},
			Sets: [][]string{{"x"}}, Maps: []map[string]int32{{"a": 1}},
		},
		&containers.Sets{
			Bools: []bool{true}, Bytes: []int8{1}, Shorts: []int16{1}, Ints: []int32{1},
			Longs: []int64{1, 2, 3}, Doubles: []float64{-2}, Strings: []string{"s"},
			Binaries: [][]byte{{1}}, Uuids: []thrift.UUID{id}, Colours: []containers.Colour{1},
			Items: []*containers.Item{item()}, Nested: [][]int32{{9}},
			Weights: []*containers.Weight{{Kilograms: 1}}, More: [][]float64{{1}, {}},
		},
		&containers.Maps{
			Bools: map[bool]bool{true: false}, Bytes: map[int8]int16{1: 2},
			Ints: map[int32]int64{3: 4}, Doubles: map[float64]float64{5: 6},
			Strings: map[string][]byte{"k": {1}}, Uuids: map[thrift.UUID]thrift.UUID{id: id},
			Colours: map[containers.Colour]*containers.Item{1: item()},
			Items: []thrift.Pair[*containers.Item, containers.Colour]{
				{Key: item(), Value: containers.Colour_GREEN}},
			Weights: []thrift.Pair[*containers.Weight, int32]{
				{Key: &containers.Weight{Kilograms: 2}, Value: 3}},
			Odd: []thrift.Pair[[]int32, []string]{{Key: []int32{1}, Value: []string{"v"}}},
			Deep: []thrift.Pair[map[int32]int32, map[string][]map[int8][]int64]{
				{Key: map[int32]int32{1: 2}, Value: map[string][]map[int8][]int64{
					"d": {{1: {2, 3}}}}}},
		},
		&containers.OneContainer{Cube: [][][]float64{{{1}, {}}, {}}},
		&requiredness.Required{
			A: true, B: -1, C: 2, D: 3, E: 4, F: 5, G: "g", H: []byte{8}, I: id,
			J: &requiredness.Inner{X: 1}, K: []*requiredness.Inner{{X: 2}}, L: []int32{3},
			M: map[string]*requiredness.Inner{"m": {X: 4}},
		},
		&requiredness.Optional{
			A: thrift.Ptr(false), B: thrift.Ptr[int8](0), C: thrift.Ptr[int16](0),
			D: thrift.Ptr[int32](0), E: thrift.Ptr[int64](0), F: thrift.Ptr(0.0),
			G: thrift.Ptr(""), H: []byte{}, I: &id, J: &requiredness.Inner{},
			K: []*requiredness.Inner{}, L: []int32{}, M: map[string]*requiredness.Inner{},
		},
		&requiredness.Optional{},
		defaults.NewDefaults(),
		defaults.NewOptionalDefaults(),
		&recursive.Expression{Binary: &recursive.Binary{Operator: recursive.Operator_DIVIDE,
			Left: &recursive.Expression{Literal: thrift.Ptr[int64](1)},
			Right: &recursive.Expression{
				Negated: &recursive.Expression{Variable: thrift.Ptr("x")}}}},
	}
}

// fresh returns another struct of the type of value.
func fresh(value thrift.Struct) thrift.Struct {
	return reflect.New(reflect.TypeOf(value).Elem()).Interface().(thrift.Struct)
}

func TestStructsComeBackAsWritten(t *testing.T) {
	for _, value := range values() {
		message := thrift.Marshal(value)
		if len(message) != value.BLength() {
			t.Errorf("%T has %d bytes, and says %d", value, len(message), value.BLength())
		}
		copied, owned := fresh(value), fresh(value)
		behind := append(bytes.Clone(message), 0xaa)
		if n, err := copied.FastRead(behind); n != len(message) || err != nil {
			t.Errorf("%T: %d, %v", value, n, err)
		}
		clear(behind)
		if err := thrift.Unmarshal(message, owned); err != nil {
			t.Errorf("%T: %v", value, err)
		}
		for _, again := range []thrift.Struct{copied, owned} {
			if !reflect.DeepEqual(again, value) {
				t.Errorf("%+v comes back as %+v", value, again)
			}
		}
	}
}

func TestListsOfEveryLengthComeBack(t *testing.T) {
	for n := range 33 {
		value := &containers.Lists{}
		for i := range n {
			value.Ints = append(value.Ints, int32(i)<<20)
			value.Longs = append(value.Longs, int64(i)<<40)
			value.Doubles = append(value.Doubles, 1/float64(i+1))
			value.Colours = append(value.Colours, containers.Colour(i))
		}
		back := new(containers.Lists)
		if err := thrift.Unmarshal(thrift.Marshal(value), back); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(back.Ints, value.Ints) || !slices.Equal(back.Longs, value.Longs) ||
			!slices.Equal(back.Doubles, value.Doubles) ||
			!slices.Equal(back.Colours, value.Colours) {
			t.Errorf("%+v comes back as %+v", value, back)
		}
	}
}

func TestReadStructForgetsWhatItHeld(t *testing.T) {
	value := &requiredness.Optional{A: thrift.Ptr(true), L: []int32{1}}
	if _, err := value.FastRead([]byte{0}); err != nil ||
		!reflect.DeepEqual(value, &requiredness.Optional{}) {
		t.Errorf("%+v, %v", value, err)
	}
}

func TestAbsentFieldsHaveTheirDefaults(t *testing.T) {
	value := &defaults.Defaults{Tiny: 5}
	if _, err := value.FastRead([]byte{0}); err != nil ||
		!reflect.DeepEqual(value, defaults.NewDefaults()) {
		t.Errorf("%+v, %v", value, err)
	}
	if value.Tiny != -8 || value.Mode != defaults.Mode_AUTO || value.Inner.A != 5 ||
		*value.Inner.C != 3.5 || value.Inners[0].B != "one" {
		t.Errorf("%+v", value)
	}
	if name := new(defaults.OptionalDefaults).GetName(); name != "nobody" {
		t.Errorf("%q is the default", name)
	}
}

func TestNilStructIsLeftOutOrEmpty(t *testing.T) {
	if message := thrift.Marshal((*containers.Item)(nil)); !bytes.Equal(message, []byte{0}) {
		t.Errorf("%x", message)
	}
	value := &recursive.Chain{Name: "a"}
	if message := thrift.Marshal(value); hex.EncodeToString(message) != "0b00010000000161"+"00" {
		t.Errorf("%x", message)
	}
}

func TestEveryTruncationIsAnError(t *testing.T) {
	for _, value := range values() {
		message := thrift.Marshal(value)
		for n := range message {
			err := thrift.Unmarshal(message[:n:n], fresh(value))
			var missing *thrift.MissingFieldError
			if err == nil || errors.As(err, &missing) {
				t.Errorf("%T: %d bytes of %d: %v", value, n, len(message), err)
			}
		}
	}
}

func TestMissingRequiredFieldIsNamed(t *testing.T) {
	value := values()[4].(*requiredness.Required)
	message := thrift.Marshal(value)
	message[2] = 99 // The number of the field a.
	var missing *thrift.MissingFieldError
	err := thrift.Unmarshal(message, new(requiredness.Required))
	if !errors.As(err, &missing) || missing.Field != "Required.a" {
		t.Errorf("%v", err)
	}
}

// hostileMessage is a message that is refused.
type hostileMessage struct {
	of       thrift.Struct
	message  string // in hexadecimal
	expected error
}

func hostileMessages() []hostileMessage {
	deep := bytes.Repeat([]byte{12, 0, 2}, 100)
	deep = append(deep, make([]byte, 101)...)
	unknown := bytes.Repeat([]byte{12, 0, 99}, 100)
	unknown = append(unknown, make([]byte, 101)...)
	lists := append([]byte{15, 0, 99}, bytes.Repeat([]byte{15, 0, 0, 0, 1}, 100)...)
	return []hostileMessage{
		{new(containers.Lists), "0f0005" + "0a7fffffff" + "00", thrift.ErrSize},
		{new(containers.Lists), "0f0005" + "0affffffff" + "00", thrift.ErrSize},
		{new(containers.Lists), "0f000b" + "0c7fffffff" + "00", thrift.ErrSize},
		{new(containers.Lists), "0f0007" + "0b00000002" + "00000000" + "00", thrift.ErrSize},
		{new(containers.Lists), "0f0005" + "0800000001" + "0000000000000001" + "00",
			thrift.ErrElement},
		{new(containers.Maps), "0d0003" + "080a7fffffff" + "00", thrift.ErrSize},
		{new(containers.Maps), "0d0003" + "0a0a00000001" + "00000000", thrift.ErrElement},
		{new(containers.Lists), "0f0063" + "0b7fffffff" + "00", thrift.ErrSize},
		{new(containers.Lists), "0d0063" + "02027fffffff" + "00", thrift.ErrSize},
		{new(containers.Lists), "0f0063" + "0cffffffff" + "00", thrift.ErrSize},
		{new(containers.Lists), "050001" + "0000", thrift.ErrType},
		{new(containers.Lists), "800001" + "0000", thrift.ErrType},
		{new(containers.Lists), "0f0063" + "0100000001" + "0000", thrift.ErrType},
		{new(containers.Item), "0b0002" + "7fffffff" + "00", thrift.ErrTruncated},
		{new(containers.Item), "0b0002" + "ffffffff" + "00", thrift.ErrTruncated},
		{new(recursive.Node), hex.EncodeToString(deep), thrift.ErrDepth},
		{new(recursive.Node), hex.EncodeToString(unknown), thrift.ErrDepth},
		{new(recursive.Node), hex.EncodeToString(lists), thrift.ErrDepth},
	}
}

func TestHostileBytesAreErrors(t *testing.T) {
	for _, c := range hostileMessages() {
		message, err := hex.DecodeString(c.message)
		if err != nil {
			t.Fatal(err)
		}
		if err := thrift.Unmarshal(message, c.of); !errors.Is(err, c.expected) {
			t.Errorf("%T: %.40s: %v, and not %v", c.of, c.message, err, c.expected)
		}
	}
}

func TestDepthOfTheLimitIsRead(t *testing.T) {
	message := append(bytes.Repeat([]byte{12, 0, 2}, 63), make([]byte, 64)...)
	if err := thrift.Unmarshal(message, new(recursive.Node)); err != nil {
		t.Error(err)
	}
}

func TestBytesBehindTheStructAreAnError(t *testing.T) {
	if err := thrift.Unmarshal([]byte{0, 0}, new(containers.Item)); err == nil {
		t.Error("they are read")
	}
}

func TestUnknownAndMistypedFieldsAreSkipped(t *testing.T) {
	message, _ := hex.DecodeString("080002" + "00000001" + // name as an i32
		"0f0063" + "0c00000002" + "0000" + // a list of structs
		"0d0064" + "0b0200000001" + "0000000161" + "01" + // a map
		"080001" + "00000007" + "080001" + "00000008" + "00")
	var value containers.Item
	if err := thrift.Unmarshal(message, &value); err != nil || value.ID != 8 || value.Name != "" {
		t.Errorf("%+v, %v", value, err)
	}
}

func TestUnionKeepsItsLastField(t *testing.T) {
	message, _ := hex.DecodeString("0a0001" + "0000000000000001" + "0b0002" + "00000000" + "00")
	var value recursive.Expression
	err := thrift.Unmarshal(message, &value)
	if err != nil || value.Literal != nil || value.Variable == nil {
		t.Errorf("%+v, %v", value, err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, value := range values() {
		f.Add(thrift.Marshal(value))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, of := range []thrift.Struct{new(containers.Lists), new(containers.Maps),
			new(requiredness.Required), new(defaults.Defaults), new(recursive.Expression)} {
			if thrift.Unmarshal(bytes.Clone(message), of) != nil {
				continue
			}
			written := thrift.Marshal(of)
			if err := thrift.Unmarshal(written, fresh(of)); err != nil {
				t.Errorf("%T: %x is read, and written as %x: %v", of, message, written, err)
			}
		}
	})
}

// nestedLists returns a message of n bytes in which lists of trees lie inside each other, each of
// which announces as many elements as there are bytes left.
func nestedLists(n int) []byte {
	var message []byte
	for range 31 {
		message = append(message, 15, 0, 4, 12)
		message = binary.BigEndian.AppendUint32(message, uint32(n-len(message)-4))
	}
	return append(message, bytes.Repeat([]byte{255}, n-len(message))...)
}

// allocated returns the number of bytes that a function allocates.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestNestedAnnouncedCountsAllocateLittle(t *testing.T) {
	message := nestedLists(1 << 20)
	n := allocated(func() {
		if thrift.Unmarshal(message, new(recursive.Tree)) == nil {
			t.Error("the message is read")
		}
	})
	if n > 32<<20 {
		t.Errorf("%d bytes are allocated", n)
	}
}

func TestNestedAnnouncedMapsAllocateLittle(t *testing.T) {
	const size = 1 << 20
	var message []byte
	for range 20 { // The staff of a company, of which the first is employed by another one.
		message = append(message, 13, 0, 3, 11, 12)
		message = binary.BigEndian.AppendUint32(message, uint32(size-len(message)-4)/12)
		message = append(message, 0, 0, 0, 0, 12, 0, 2)
	}
	message = append(message, bytes.Repeat([]byte{255}, size-len(message))...)
	n := allocated(func() {
		if err := thrift.Unmarshal(message, new(recursive.Company)); err == nil {
			t.Error("the message is read")
		}
	})
	if n > 32<<20 {
		t.Errorf("%d bytes are allocated", n)
	}
}

func TestListBeyondTheMemoryIsAnError(t *testing.T) {
	n := 8 << 20
	message := append([]byte{15, 0, 4, 12}, binary.BigEndian.AppendUint32(nil, uint32(n))...)
	message = append(message, make([]byte, n+1)...)
	if err := thrift.Unmarshal(message, new(recursive.Tree)); !errors.Is(err, thrift.ErrMemory) {
		t.Errorf("%v", err)
	}
}

func TestListWithoutCreditIsRead(t *testing.T) {
	value := &recursive.Tree{Others: make([]*recursive.Tree, 4000)}
	message := append([]byte{15, 0, 4, 12}, binary.BigEndian.AppendUint32(nil, 4000)...)
	for i := range value.Others {
		value.Others[i] = new(recursive.Tree)
		if i%100 == 0 {
			value.Others[i].Value = int32(i)
			message = append(message, 8, 0, 1)
			message = binary.BigEndian.AppendUint32(message, uint32(i))
		}
		message = append(message, 0)
	}
	read := new(recursive.Tree)
	err := thrift.Unmarshal(append(message, 0), read)
	if err != nil || !reflect.DeepEqual(read, value) {
		t.Errorf("%v", err)
	}
}

func TestContainersCountAsLevels(t *testing.T) {
	for structs, expected := range map[int]error{63: nil, 64: thrift.ErrDepth} {
		message := bytes.Repeat([]byte{12, 0, 2}, structs-1) // The left tree of the left tree.
		message = append(message, 15, 0, 4, 12, 0, 0, 0, 0)
		message = append(message, make([]byte, structs)...)
		if err := thrift.Unmarshal(message, new(recursive.Tree)); !errors.Is(err, expected) {
			t.Errorf("a list in %d structs: %v", structs, err)
		}
	}
}
