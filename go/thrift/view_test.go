//go:build go1.23

package thrift_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/breezeway-ipc/breezeway/go/internal/idl/containers"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/defaults"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/recursive"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/requiredness"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/shapes"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// viewsOf are the functions that make views of the structs of the tests, by their types.
var viewsOf = map[string]func(message []byte) (any, error){
	"*containers.Item":           anyView(containers.ViewItem),
	"*containers.Lists":          anyView(containers.ViewLists),
	"*containers.Maps":           anyView(containers.ViewMaps),
	"*containers.OneContainer":   anyView(containers.ViewOneContainer),
	"*containers.Sets":           anyView(containers.ViewSets),
	"*defaults.Defaults":         anyView(defaults.ViewDefaults),
	"*defaults.OptionalDefaults": anyView(defaults.ViewOptionalDefaults),
	"*defaults.RequiredDefaults": anyView(defaults.ViewRequiredDefaults),
	"*recursive.Company":         anyView(recursive.ViewCompany),
	"*recursive.Expression":      anyView(recursive.ViewExpression),
	"*recursive.Node":            anyView(recursive.ViewNode),
	"*recursive.Tree":            anyView(recursive.ViewTree),
	"*requiredness.Optional":     anyView(requiredness.ViewOptional),
	"*requiredness.Required":     anyView(requiredness.ViewRequired),
}

// testView compares a view of a message with the struct of it, which is of the type of value.
func testView(t *testing.T, message []byte, value thrift.Struct) {
	t.Helper()
	err := compareView(message, fresh(value), viewsOf[fmt.Sprintf("%T", value)])
	if err != nil {
		t.Errorf("%x: %v", message, err)
	}
}

func TestViewsAgreeWithStructs(t *testing.T) {
	for _, value := range append(values(), defaults.NewRequiredDefaults()) {
		message := thrift.Marshal(value)
		testView(t, message, value)
		testView(t, append(message, 0), value)
		testView(t, []byte{0}, value)
		for n := range message {
			testView(t, message[:n:n], value)
		}
	}
}

func TestViewsAgreeOnEveryMutant(t *testing.T) {
	for _, value := range values() {
		message := thrift.Marshal(value)
		for i, original := range message {
			for _, mutant := range []byte{0, 1, 2, 8, 11, 12, 15, 127, 255, original ^ 1} {
				message[i] = mutant
				testView(t, message, value)
			}
			message[i] = original
		}
	}
}

func TestViewsRefuseHostileBytes(t *testing.T) {
	for _, c := range hostileMessages() {
		message, _ := hex.DecodeString(c.message)
		testView(t, message, c.of)
	}
	testView(t, nestedLists(1<<16), new(recursive.Tree))
}

func TestViewsHaveTheLastOfRepeatedFields(t *testing.T) {
	values := append(values(), &recursive.Expression{Literal: thrift.Ptr[int64](1)},
		&containers.Lists{Longs: []int64{5}}, &containers.Item{ID: 1, Name: "a"},
		&containers.Item{ID: 2})
	for _, first := range values {
		for _, second := range values {
			if fmt.Sprintf("%T", first) != fmt.Sprintf("%T", second) {
				continue
			}
			message := thrift.Marshal(first)
			message = append(message[:len(message)-1], thrift.Marshal(second)...)
			testView(t, message, first)
		}
	}
}

func TestViewsSkipUnknownAndMistypedFields(t *testing.T) {
	message, _ := hex.DecodeString("080002" + "00000001" + // name as an i32
		"0f0063" + "0c00000002" + "0000" + // a list of structs
		"080001" + "00000007" + "00")
	testView(t, message, new(containers.Item))
	view, err := containers.ViewItem(message)
	if err != nil || view.ID() != 7 || view.Name() != "" {
		t.Errorf("%d, %q, %v", view.ID(), view.Name(), err)
	}
}

func TestViewsHaveRepeatedKeysEachTime(t *testing.T) {
	message, _ := hex.DecodeString("0d0003" + "080a00000002" + "00000001" + "0000000000000002" +
		"00000001" + "0000000000000003" + "00")
	testView(t, message, new(containers.Maps))
	view, err := containers.ViewMaps(message)
	if err != nil || view.Ints().Len() != 2 {
		t.Errorf("%d pairs, %v", view.Ints().Len(), err)
	}
}

func TestZeroViewHasDefaults(t *testing.T) {
	var view defaults.OptionalDefaultsView
	value := defaults.NewOptionalDefaults()
	if view.Name() != value.GetName() || view.Mode() != value.GetMode() || view.HasName() ||
		view.Inner().A() != 1 || slices.Collect(view.Words().All())[0] != "x" {
		t.Errorf("%q, %v, %d", view.Name(), view.Mode(), view.Inner().A())
	}
	if read, err := view.Read(); err != nil || read.GetName() != value.GetName() {
		t.Errorf("%+v, %v", read, err)
	}
	var maps containers.MapsView
	for range maps.Strings().All() {
		t.Error("a pair of an absent map")
	}
	if maps.Strings().Len() != 0 || new(recursive.NodeView).Next().Next().Value() != 0 {
		t.Error("absent fields are not empty")
	}
}

func TestReadOfViewKeepsNothingOfMessage(t *testing.T) {
	message := thrift.Marshal(&containers.Item{ID: 7, Name: "seven"})
	view, err := containers.ViewItem(message)
	if err != nil {
		t.Fatal(err)
	}
	read, err := view.Read()
	clear(message)
	if err != nil || read.ID != 7 || read.Name != "seven" {
		t.Errorf("%+v, %v", read, err)
	}
}

func TestPartsOfViewsArePartsOfTheMessage(t *testing.T) {
	value := &containers.Lists{Strings: []string{"ab"}, Binaries: [][]byte{{200, 201}}}
	message := thrift.Marshal(value)
	view, err := containers.ViewLists(message)
	if err != nil {
		t.Fatal(err)
	}
	for name := range view.Strings().All() {
		if at := bytes.Index(message, []byte("ab")); unsafe.StringData(name) != &message[at] {
			t.Error("the string is a copy")
		}
	}
	for part := range view.Binaries().All() {
		if &part[0] != &message[bytes.Index(message, []byte{200, 201})] || cap(part) != 2 {
			t.Error("the binary is a copy, or can grow into the message")
		}
	}
}

func TestIterationEndsWithItsLoop(t *testing.T) {
	message := thrift.Marshal(&containers.Maps{Ints: map[int32]int64{1: 2, 3: 4}})
	view, _ := containers.ViewMaps(message)
	n := 0
	for range view.Ints().All() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d pairs", n)
	}
}

func TestViewsAllocateNothing(t *testing.T) {
	item := &shapes.Five{ID: 7, Name: "a name", Values: []int64{1, 2}}
	batch := thrift.Marshal(&shapes.Batch{Items: []*shapes.Five{item, item}})
	texts := thrift.Marshal(&shapes.Texts{Title: "a", Tags: []string{"b"}, Body: []byte{1},
		Labels: map[string]string{"c": "d"}})
	nested := thrift.Marshal(values()[2])
	var sum int64
	n := testing.AllocsPerRun(100, func() {
		view, err := shapes.ViewBatch(batch)
		if err != nil {
			t.Fatal(err)
		}
		for item := range view.Items().All() {
			sum += item.ID() + int64(len(item.Name()))
			for value := range item.Values().All() {
				sum += value
			}
		}
		text, _ := shapes.ViewTexts(texts)
		for key, value := range text.Labels().All() {
			sum += int64(len(key) + len(value) + len(text.Body()) + len(text.Title()))
		}
		maps, _ := containers.ViewMaps(nested)
		for numbers, names := range maps.Deep().All() {
			for key, value := range numbers.All() {
				sum += int64(key + value)
			}
			for _, list := range names.All() {
				sum += int64(list.Len())
			}
		}
		var absent defaults.DefaultsView
		for inner := range absent.Inners().All() {
			sum += int64(inner.A()) + int64(len(absent.Blob()))
		}
	})
	if n != 0 || sum == 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestViewsNeedNoMemoryForElements(t *testing.T) {
	n := 8 << 20
	message := append([]byte{15, 0, 4, 12}, binary.BigEndian.AppendUint32(nil, uint32(n))...)
	message = append(message, make([]byte, n+1)...)
	view, err := recursive.ViewTree(message)
	if err != nil || view.Others().Len() != n {
		t.Errorf("%d trees, %v", view.Others().Len(), err)
	}
	if _, err := view.Read(); !errors.Is(err, thrift.ErrMemory) {
		t.Errorf("%v", err)
	}
}

func TestViewOfMoreThan4GiBIsAnError(t *testing.T) {
	const part = 1<<31 - 8
	message, err := syscall.Mmap(-1, 0, 3*(part+7)+1, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(message)
	for i := range 3 {
		b := message[i*(part+7):]
		thrift.PutHead(b, 0x0b0002)
		thrift.PutI32(b[3:], part)
	}
	if _, err := containers.ViewItem(message); !errors.Is(err, thrift.ErrLong) {
		t.Errorf("%v", err)
	}
	if _, err := containers.ViewItem(message[2*(part+7):]); err != nil {
		t.Errorf("%v", err)
	}
}

func FuzzView(f *testing.F) {
	for _, value := range values() {
		f.Add(thrift.Marshal(value))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, of := range []thrift.Struct{new(containers.Lists), new(containers.Maps),
			new(requiredness.Required), new(defaults.Defaults), new(recursive.Expression)} {
			testView(t, message, of)
		}
	})
}
