package breezewaykitex_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/frugal"
	fast "github.com/cloudwego/gopkg/protocol/thrift"

	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/shapes"
	plain "github.com/breezeway-ipc/breezeway/go/internal/idl/shapes"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// fastCodec is one of Kitex's for a struct of `breezeway gen --lang go`, as docs/idl-go.md has it.
type fastCodec struct{ thrift.Struct }

func (c fastCodec) FastWriteNocopy(buf []byte, _ fast.NocopyWriter) int { return c.FastWrite(buf) }

// shape is one value as both generators have it.
type shape struct {
	name     string
	kitex    fast.FastCodec
	ours     thrift.Struct
	newKitex func() fast.FastCodec
	newOurs  func() thrift.Struct
}

func names(count int, format string) (names []string) {
	for i := range count {
		names = append(names, fmt.Sprintf(format, i))
	}
	return names
}

func shapesToMeasure() []shape {
	score := 0.5
	longs, ints := make([]int64, 1000), make([]int32, 1000)
	for i := range longs {
		longs[i], ints[i] = int64(i)<<32, int32(i)<<16
	}
	labels := map[string]string{}
	for _, name := range names(10, "label-%d") {
		labels[name] = "value of " + name
	}
	five := func() (*shapes.Five, *plain.Five) {
		return &shapes.Five{Id: 7, Name: "a name of some letters", Score: &score, Active: true,
				Values: longs[:10]},
			&plain.Five{ID: 7, Name: "a name of some letters", Score: &score, Active: true,
				Values: longs[:10]}
	}
	kitexFive, ourFive := five()
	kitexBatch, ourBatch := new(shapes.Batch), new(plain.Batch)
	for range 100 {
		k, o := five()
		kitexBatch.Items, ourBatch.Items = append(kitexBatch.Items, k), append(ourBatch.Items, o)
	}
	body, tags := []byte(strings.Repeat("b", 1000)), names(20, "tag-%d")
	kitexOrder, ourOrder := orders(kitexBatch.Items, ourBatch.Items)
	return []shape{
		{"five", kitexFive, ourFive,
			func() fast.FastCodec { return new(shapes.Five) },
			func() thrift.Struct { return new(plain.Five) }},
		{"numbers",
			&shapes.Numbers{A: 1, B: 2, C: 3, D: true, E: 5, F: 6, Longs: longs, Ints: ints},
			&plain.Numbers{A: 1, B: 2, C: 3, D: true, E: 5, F: 6, Longs: longs, Ints: ints},
			func() fast.FastCodec { return new(shapes.Numbers) },
			func() thrift.Struct { return new(plain.Numbers) }},
		{"texts", &shapes.Texts{Title: "a title", Tags: tags, Labels: labels, Body: body},
			&plain.Texts{Title: "a title", Tags: tags, Labels: labels, Body: body},
			func() fast.FastCodec { return new(shapes.Texts) },
			func() thrift.Struct { return new(plain.Texts) }},
		{"batch", kitexBatch, ourBatch,
			func() fast.FastCodec { return new(shapes.Batch) },
			func() thrift.Struct { return new(plain.Batch) }},
		{"order", kitexOrder, ourOrder,
			func() fast.FastCodec { return new(shapes.Order) },
			func() thrift.Struct { return new(plain.Order) }},
	}
}

func orders(kitex []*shapes.Five, ours []*plain.Five) (*shapes.Order, *plain.Order) {
	note := "ring twice, and leave it with the neighbours"
	return &shapes.Order{Id: 7, Customer: "Ada Lovelace", Status: 3, Total: 12.5, Currency: "EUR",
			Street: "12 Some Street", City: "London", Country: "UK", Note: &note, Created: 1,
			Updated: 2, Paid: true, Carrier: "a carrier", Tracking: "0123456789", Weight: 500,
			Tags: names(5, "tag-%d"), Items: kitex, Checksum: "0123456789abcdef"},
		&plain.Order{ID: 7, Customer: "Ada Lovelace", Status: 3, Total: 12.5, Currency: "EUR",
			Street: "12 Some Street", City: "London", Country: "UK", Note: &note, Created: 1,
			Updated: 2, Paid: true, Carrier: "a carrier", Tracking: "0123456789", Weight: 500,
			Tags: names(5, "tag-%d"), Items: ours, Checksum: "0123456789abcdef"}
}

// BenchmarkCodec measures encoding to memory that is there, with the size computed before, and
// decoding to a new struct: by code of breezeway gen, which copies (ours) or owns the message
// (owned), by Kitex's fast codec and by frugal.
func BenchmarkCodec(b *testing.B) {
	for _, s := range shapesToMeasure() {
		message := fast.FastMarshal(s.kitex)
		buf := make([]byte, len(message))
		encode := func(name string, write func() int) {
			b.Run(s.name+"/encode/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if write() != len(message) {
						b.Fatal("another size")
					}
				}
			})
		}
		encode("ours", func() int { return s.ours.FastWrite(buf[:s.ours.BLength()]) })
		encode("fast", func() int { return s.kitex.FastWriteNocopy(buf[:s.kitex.BLength()], nil) })
		encode("frugal", func() int {
			n, _ := frugal.EncodeObject(buf[:frugal.EncodedSize(s.kitex)], nil, s.kitex)
			return n
		})
		decode := func(name string, read func() error) {
			b.Run(s.name+"/decode/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := read(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		decode("ours", func() error {
			value := s.newOurs()
			_, err := value.FastRead(message)
			return err
		})
		decode("owned", func() error {
			value := s.newOurs()
			return thrift.Unmarshal(message, value)
		})
		decode("fast", func() error {
			value := s.newKitex()
			_, err := value.FastRead(message)
			return err
		})
		decode("frugal", func() error {
			value := s.newKitex()
			_, err := frugal.DecodeObject(message, value)
			return err
		})
	}
}

func TestKitexReadsWhatGeneratedCodeWrites(t *testing.T) {
	for _, s := range shapesToMeasure() {
		if len(fast.FastMarshal(fastCodec{s.ours})) != len(fast.FastMarshal(s.kitex)) {
			t.Errorf("%s has another size", s.name)
		}
		back := s.newKitex()
		if err := fast.FastUnmarshal(thrift.Marshal(s.ours), back); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		again := s.newOurs()
		if err := thrift.Unmarshal(fast.FastMarshal(back), again); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if len(thrift.Marshal(again)) != len(fast.FastMarshal(s.kitex)) {
			t.Errorf("%s comes back otherwise", s.name)
		}
	}
}
