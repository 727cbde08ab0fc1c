package proto

import "testing"

func TestNumbersThatShareAPlaceAreAllKept(t *testing.T) {
	n := newNumbers(1)
	same := uint32(2 * len(n.slots))
	for _, number := range []uint32{1, 1 + same, 1 + 2*same} {
		if n.has(number) {
			t.Errorf("%d is in use before it was added", number)
		}
		n.add(number)
	}
	for _, number := range []uint32{1, 1 + 2*same, 1 + same} {
		if n.remove(number); n.has(number) {
			t.Errorf("%d is in use after it was removed", number)
		}
	}
	if n.add(1); !n.has(1) || n.has(1+same) {
		t.Errorf("with 1 alone, the numbers are %v", n)
	}
}
