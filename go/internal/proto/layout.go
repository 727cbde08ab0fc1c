// Package proto is the protocol of docs/abi.md without IO: the forms of hellos, entries and frames,
// and the rules that they keep to. Bytes, lengths and times in, values and decisions out; no memory
// that another process writes, no socket, clock, lock or goroutine.
package proto

// Version is the version of the ABI that this module speaks.
const Version = 2

// The control segment (section 3.1): byte offsets.
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
	CountersAt       = 0x400
	RingAt           = 0x1000
)

// ControlMagic is "BRZWCTRL" as a little-endian word.
const ControlMagic = 0x4c525443_575a5242

// Idle is the intent of a side that waits for nothing.
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

// ControlSize is the size of a control segment whose ring has so many entries.
func ControlSize(ringCapacity uint32) uint64 {
	return RoundUp(RingAt + EntrySize*uint64(ringCapacity))
}

// RoundUp rounds up to whole pages.
func RoundUp(n uint64) uint64 { return (n + Page - 1) &^ (Page - 1) }

// Crossed says whether an advance from old to new passes the index that a waiter has announced
// (section 5).
func Crossed(index, old, new uint64) bool { return new-index-1 < new-old }

// A Counter is the number of a word among those that an owner keeps for tools (section 7).
type Counter int

// The counters.
const (
	EntriesPublished Counter = iota
	PayloadBytesLent
	DoorbellsRung
	Sleeps
	PayloadSegmentBytes
	RingFull
	NoMemory
	SegmentsAdded
)
