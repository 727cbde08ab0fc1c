package main

import "encoding/binary"

// The payload pattern of all comparison programs (crates/breezeway-measure/src/pattern.rs): word i is
// seed + i × step, little-endian; the last word may be cut short.
const step = 0x9E37_79B9_7F4A_7C15

// seedOf gives the seed of a round.
func seedOf(round uint64) uint64 {
	return round * 0xD1B5_4A32_D192_ED03
}

// fill writes the pattern of seed into every byte of buffer.
func fill(buffer []byte, seed uint64) {
	word := seed
	for len(buffer) >= 8 {
		binary.LittleEndian.PutUint64(buffer, word)
		buffer, word = buffer[8:], word+step
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], word)
	copy(buffer, last[:])
}

// matches reports whether every byte of buffer is that of the pattern of seed.
func matches(buffer []byte, seed uint64) bool {
	var differences uint64
	word := seed
	for len(buffer) >= 8 {
		differences |= binary.LittleEndian.Uint64(buffer) ^ word
		buffer, word = buffer[8:], word+step
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], word)
	return differences == 0 && string(buffer) == string(last[:len(buffer)])
}
