package proto

import "testing"

func TestSegmentCapHasAReserveWithStreams(t *testing.T) {
	plain, streams := Hello{PayloadCap: 16384}, Hello{PayloadCap: 20480, MaxStreams: 1}
	for _, c := range []struct {
		one, other *Hello
		want       uint64
	}{
		{&plain, &plain, 16384}, {&plain, &streams, 20480}, {&streams, &plain, 20480},
		{&streams, &streams, 24576},
	} {
		if got := SegmentCap(c.one, c.other); got != c.want {
			t.Errorf("%+v and %+v: %d bytes, not %d", c.one, c.other, got, c.want)
		}
	}
}
