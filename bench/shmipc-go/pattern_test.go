package main

import "testing"

func TestEverySingleChangedByteIsNoticed(t *testing.T) {
	for _, size := range []int{1, 7, 8, 9, 64, 100} {
		buffer := make([]byte, size)
		fill(buffer, seedOf(3))
		if !matches(buffer, seedOf(3)) {
			t.Fatalf("%d bytes differ from themselves", size)
		}
		for place := range buffer {
			buffer[place] ^= 1
			if matches(buffer, seedOf(3)) {
				t.Errorf("byte %d of %d was changed unnoticed", place, size)
			}
			buffer[place] ^= 1
		}
	}
}
