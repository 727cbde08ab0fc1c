package breezewaykitex_test

import (
	"testing"

	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/shapes"
	plain "github.com/breezeway-ipc/breezeway/go/internal/idl/shapes"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// readOrder reads every field of a view, and returns their sizes and values in sum.
func readOrder(v plain.OrderView) int {
	n := int(v.ID()+v.Created()+v.Updated()) + int(v.Status()+v.Weight()) + int(v.Total())
	for _, text := range [...]string{v.Customer(), v.Currency(), v.Street(), v.City(), v.Country(),
		v.Note(), v.Coupon(), v.Carrier(), v.Tracking(), v.Referrer(), v.Checksum()} {
		n += len(text)
	}
	if v.Paid() {
		n++
	}
	for tag := range v.Tags().All() {
		n += len(tag)
	}
	for item := range v.Items().All() {
		n += int(item.ID()) + len(item.Name()) + int(item.Score())
		if item.Active() {
			n++
		}
		for value := range item.Values().All() {
			n += int(value)
		}
	}
	return n
}

// BenchmarkViews measures the ways to read a struct of twenty fields and a list of 100 structs: by
// a view, of which none, two or all fields are read, and as a struct.
func BenchmarkViews(b *testing.B) {
	all := shapesToMeasure()
	message := thrift.Marshal(all[len(all)-1].ours)
	view := func(read func(plain.OrderView) int) func() (int, error) {
		return func() (int, error) {
			v, err := plain.ViewOrder(message)
			return read(v), err
		}
	}
	for _, c := range []struct {
		name string
		read func() (int, error)
	}{
		{"two", view(func(v plain.OrderView) int { return len(v.Customer()) + len(v.Checksum()) })},
		{"everything", view(readOrder)},
		{"owned", func() (int, error) {
			value := new(plain.Order)
			return 1, thrift.Unmarshal(message, value)
		}},
		{"ours", func() (int, error) { return new(plain.Order).FastRead(message) }},
		{"fast", func() (int, error) { return new(shapes.Order).FastRead(message) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n, err := c.read(); n == 0 || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}
