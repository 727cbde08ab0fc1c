package proto

import (
	"encoding/binary"
	"errors"
	"testing"
)

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

func TestHelloFieldsAreIgnoredOrRefusedByName(t *testing.T) {
	own := Hello{RingCapacity: 64, LendCount: 512, PayloadCap: Page}
	for behind, want := range map[string]string{
		"":                 "",
		"\x00\x00\x00\x00": "",
		"\x07\x00\x02\x00\xff\xff\x08\x00\x00\x00\xff\xff\x01\x00\x00": "",
		"\xee":                     "hello field with a head of 1 bytes where 4 are needed",
		"\x01\x00\x00\x00\x02\x00": "hello field with a head of 2 bytes where 4 are needed",
		"\x01\x00\xff\xff\x00":     "hello field of type 0x0001 has 65535 bytes where 1 are left",
		"\x01\x00\x00\x00\x01\x00\x00\x00": "hello field of type 0x0001 lies behind one of type " +
			"0x0001: types ascend",
		"\x00\x80\x00\x00\xff\x00\x00\x00": "hello field of type 0x00ff lies behind one of type " +
			"0x8000: types ascend",
	} {
		hello := append(own.Encode(), behind...)
		binary.LittleEndian.PutUint16(hello[10:], uint16(len(hello)))
		found, err := DecodeHello(hello)
		if want == "" {
			if err != nil || *found != own {
				t.Errorf("%x: %+v and %v", behind, found, err)
			}
			continue
		}
		if broken := (*HelloError)(nil); !errors.As(err, &broken) || err.Error() != want ||
			broken.Answer != RefusedViolation {
			t.Errorf("%x: %v", behind, err)
		}
	}
}
