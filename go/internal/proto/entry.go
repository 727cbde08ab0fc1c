package proto

import (
	"encoding/binary"
	"fmt"
)

// InlineMax is the longest body that lies in an entry itself; the first line holds FirstLine of it.
const (
	InlineMax     = 104
	FirstLine     = 40
	DescriptorLen = 24
	bodyWord      = 3
	firstWords    = 8
	// EntryWords is the number of 64-bit words in an entry.
	EntryWords = 16
)

// A Kind is what an entry or a frame is (section 4.1).
type Kind uint8

// The kinds.
const (
	KindMessage       Kind = 1
	KindReset         Kind = 2
	KindCancel        Kind = 3
	KindWindow        Kind = 4
	KindDeadline      Kind = 5
	KindSegmentAdd    Kind = 6
	KindSegmentRetire Kind = 7
	KindGoAway        Kind = 8
	KindShutdown      Kind = 9
)

// Flags are those of a message (section 4.1).
type Flags uint8

// The flags.
const (
	FlagOpen     Flags = 0x01
	FlagFin      Flags = 0x02
	FlagLent     Flags = 0x04
	FlagError    Flags = 0x08
	FlagNoReply  Flags = 0x10
	FlagMetadata Flags = 0x20
	FlagEmpty    Flags = 0x40
	FlagStream   Flags = 0x80
)

// The flags that each request bears: one that wants a reply, and one that does not.
const (
	RequestFlags = FlagOpen | FlagFin
	OneWayFlags  = RequestFlags | FlagNoReply
)

// Has says whether all bits of other are set.
func (f Flags) Has(other Flags) bool { return f&other == other }

// A Head is what an entry or a frame says beside its body.
type Head struct {
	Kind   Kind
	Flags  Flags
	Time   uint16
	Stream uint32
	Tag    uint32
}

// An Entry is a private copy of a ring slot.
type Entry struct {
	Head
	// Released is 0, or 1 + the lend number that this entry releases.
	Released uint16
	// Len is the number of body bytes, at most InlineMax. Body is where they are to be, set by who
	// has it read.
	Len  int
	Body *[InlineMax]byte
}

// Bytes are the body bytes in use.
func (e *Entry) Bytes() []byte { return e.Body[:e.Len] }

// Words is an entry as it lies in a ring. The first one, the sequence, is not part of it.
type Words [EntryWords]uint64

// Pack writes a head and a body of at most InlineMax bytes, and gives the number of words that are
// to be stored: the second line is left out where the body does not reach it.
func (w *Words) Pack(head *Head, released uint16, body []byte) int {
	w[1] = uint64(head.Kind) | uint64(head.Flags)<<8 | uint64(len(body))<<16 |
		uint64(head.Stream)<<32
	w[2] = uint64(head.Tag) | uint64(released)<<32 | uint64(head.Time)<<48
	count := firstWords
	if len(body) > FirstLine {
		count = EntryWords
	}
	at := bodyWord
	for ; len(body) >= 8 && at < EntryWords; body, at = body[8:], at+1 {
		w[at] = binary.LittleEndian.Uint64(body)
	}
	if len(body) > 0 {
		var last uint64
		for i, b := range body {
			last |= uint64(b) << (8 * i)
		}
		w[at] = last
		at++
	}
	clear(w[at:count])
	return count
}

// Unpack reads what the first two words say; it is an error if the length is none. The body lies in
// the words behind them, of which those of the second line count only past FirstLine bytes.
func (e *Entry) Unpack(first, second uint64) error {
	// One by one: a head that is put together first is stored in parts and copied as a whole, which
	// waits for the stores.
	e.Kind, e.Flags, e.Stream = Kind(first), Flags(first>>8), uint32(first>>32)
	e.Tag, e.Time = uint32(second), uint16(second>>48)
	e.Released = uint16(second >> 32)
	e.Len = int(uint16(first >> 16))
	if e.Len > InlineMax {
		return fmt.Errorf("an entry claims %d inline bytes; it holds %d", e.Len, InlineMax)
	}
	return nil
}

// A Descriptor says where a lent payload lies (section 4.2).
type Descriptor struct {
	Segment, Lend  uint32
	Offset, Length uint64
}

// Encode gives its bytes.
func (d Descriptor) Encode() (bytes [DescriptorLen]byte) {
	binary.LittleEndian.PutUint32(bytes[0:], d.Segment)
	binary.LittleEndian.PutUint32(bytes[4:], d.Lend)
	binary.LittleEndian.PutUint64(bytes[8:], d.Offset)
	binary.LittleEndian.PutUint64(bytes[16:], d.Length)
	return bytes
}

// DecodeDescriptor reads the body of an entry with FlagLent.
func DecodeDescriptor(body []byte) (Descriptor, error) {
	if len(body) != DescriptorLen {
		return Descriptor{}, fmt.Errorf("a descriptor of %d bytes; it has %d", len(body),
			DescriptorLen)
	}
	return Descriptor{
		Segment: binary.LittleEndian.Uint32(body[0:]),
		Lend:    binary.LittleEndian.Uint32(body[4:]),
		Offset:  binary.LittleEndian.Uint64(body[8:]),
		Length:  binary.LittleEndian.Uint64(body[16:]),
	}, nil
}

// Check judges a descriptor against the size of its segment and the agreed number of lends.
func (d Descriptor) Check(size uint64, lends uint32) error {
	if d.Lend >= lends {
		return fmt.Errorf("descriptor with lend number %d; the hello allows %d", d.Lend, lends)
	}
	if end := d.Offset + d.Length; d.Length == 0 || end < d.Offset || end > size {
		return fmt.Errorf("descriptor names %d bytes at %d of a segment of %d", d.Length, d.Offset,
			size)
	}
	return nil
}
