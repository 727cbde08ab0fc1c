// Package proto implements the protocol of docs/abi.md without IO: the encoding of hellos, entries
// and frames, and the rules of a session. Bytes, lengths and times go in; values and decisions come
// out. It uses no shared memory, sockets, clocks, locks or goroutines.
package proto

// Version is the version of the ABI that this module implements.
const Version = 2

// Byte offsets in the control segment (section 3.1).
const (
	ControlMagicAt   = 0x000
	ControlVersionAt = 0x008
	ControlRingAt    = 0x010
	ControlLendsAt   = 0x018
	ConsumedAt       = 0x080
	DataWakeAt       = 0x100
	SpaceWakeAt      = 0x108
	CPUAt            = 0x110
	ReleaseWakeAt    = 0x118
	ReleasedAt       = 0x180
	RingAt           = 0x1000
)

// ControlMagic is "BRZWCTRL" as a little-endian word.
const ControlMagic = 0x4c525443_575a5242

// Idle is the sleep intent of a side that does not wait.
const Idle = ^uint64(0)

// Bounds of section 2, and of sections 1 and 6.
const (
	Page               = 4096
	MinRing            = 8
	MaxRing            = 65536
	MinLends           = 64
	MaxLends           = 1024
	MaxSegments        = 64
	MaxPendingSegments = 64
)

// EntrySize is the distance between two entries of a ring in bytes.
const EntrySize = 128

// ControlSize returns the size of a control segment with a ring of ringCapacity entries.
func ControlSize(ringCapacity uint32) uint64 {
	return RoundUp(RingAt + EntrySize*uint64(ringCapacity))
}

// RoundUp rounds up to whole pages.
func RoundUp(n uint64) uint64 { return (n + Page - 1) &^ (Page - 1) }

// Crossed returns true if an advance from old to new passes the index that a waiter has announced
// (section 5).
func Crossed(index, old, new uint64) bool { return new-index-1 < new-old }
