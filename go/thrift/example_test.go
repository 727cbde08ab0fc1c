//go:build go1.23

package thrift_test

import (
	"fmt"

	"github.com/breezeway-ipc/breezeway/go/internal/idl/shapes"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// A view reads some fields of a message, and allocates nothing for the others.
func Example_view() {
	message := thrift.Marshal(&shapes.Batch{Items: []*shapes.Five{
		{ID: 7, Name: "seven", Score: thrift.Ptr(0.5)}, {ID: 8, Values: []int64{1, 2}}}})

	batch, err := shapes.ViewBatch(message)
	if err != nil {
		panic(err)
	}
	for item := range batch.Items().All() {
		fmt.Println(item.ID(), item.Name(), item.HasScore(), item.Values().Len())
	}
	// Output:
	// 7 seven true 0
	// 8  false 2
}
