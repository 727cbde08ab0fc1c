package proto

import (
	"math/bits"
	"time"
)

const numberBits = 11

// EncodeTime encodes the time that a caller waits (section 4.4), rounded up. It returns 0, which
// means no limit, for more than 50 days.
func EncodeTime(left time.Duration) uint16 {
	micros := uint64(1)
	if left > time.Microsecond {
		micros = (uint64(left) + 999) / 1000
	}
	power := max(bits.Len64(micros)-numberBits, 0)
	number := (micros + 1<<power - 1) >> power
	if number >= 1<<numberBits {
		number, power = (number+1)/2, power+1
	}
	if power >= 1<<(16-numberBits) {
		return 0
	}
	return uint16(power<<numberBits) | uint16(number)
}

// DecodeTime decodes a time. It returns false if there is none. (No coded time exceeds 51 days.)
func DecodeTime(coded uint16) (time.Duration, bool) {
	number := time.Duration(coded & (1<<numberBits - 1))
	return number << (coded >> numberBits) * time.Microsecond, number > 0
}
