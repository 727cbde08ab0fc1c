package proto

import (
	"encoding/binary"
	"fmt"
)

// InlineMax is the length of the longest body inside an entry. FirstLine bytes of it lie in the
// first cache line.
const (
	InlineMax     = 104
	FirstLine     = 40
	DescriptorLen = 24
	bodyWord      = 3
	firstWords    = 8
	// EntryWords is the number of 64-bit words in an entry.
	EntryWords = 16
)

// A Kind is the kind of an entry or a frame (section 4.1).
type Kind uint8

// Kinds of entries.
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

// Flags are the flags of a message (section 4.1).
type Flags uint8

// Flags of messages.
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

// RequestFlags are the flags of each call, and OneWayFlags those of each one-way message.
const (
	RequestFlags = FlagOpen | FlagFin
	OneWayFlags  = RequestFlags | FlagNoReply
)

// Has returns true if all bits of other are set.
func (f Flags) Has(other Flags) bool { return f&other == other }

// A Head is the header of an entry or a frame.
type Head struct {
	Kind   Kind
	Flags  Flags
	Time   uint16
	Stream uint32
	Tag    uint32
}

// An Entry is a private copy of a ring entry.
type Entry struct {
	Head
	// Released is 0, or 1 + the lend number that this entry releases.
	Released uint16
	// Len is the number of body bytes, at most InlineMax. The reader sets Body to their
	// destination.
	Len  int
	Body *[InlineMax]byte
}

// Bytes returns the body bytes in use.
func (e *Entry) Bytes() []byte { return e.Body[:e.Len] }

// Words are the words of an entry in a ring. The first one, the sequence, is written separately.
type Words [EntryWords]uint64

// Pack writes a head and a body of at most InlineMax bytes. It returns the number of words to
// store, which excludes the second cache line if the body does not reach it.
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

// Unpack decodes the first two words, and returns an error for an invalid length. The body follows
// in the other words. Those of the second line are valid only past FirstLine bytes.
func (e *Entry) Unpack(first, second uint64) error {
	// Fields are assigned one by one: a composite Head is stored in parts and then copied as a
	// whole, which waits for the stores.
	e.Kind, e.Flags, e.Stream = Kind(first), Flags(first>>8), uint32(first>>32)
	e.Tag, e.Time = uint32(second), uint16(second>>48)
	e.Released = uint16(second >> 32)
	e.Len = int(uint16(first >> 16))
	if e.Len > InlineMax {
		return fmt.Errorf("an entry claims %d inline bytes; it holds %d", e.Len, InlineMax)
	}
	return nil
}

// A Descriptor is the location of a lent payload (section 4.2).
type Descriptor struct {
	Segment, Lend  uint32
	Offset, Length uint64
}

// Encode returns the encoded descriptor.
func (d Descriptor) Encode() (bytes [DescriptorLen]byte) {
	binary.LittleEndian.PutUint32(bytes[0:], d.Segment)
	binary.LittleEndian.PutUint32(bytes[4:], d.Lend)
	binary.LittleEndian.PutUint64(bytes[8:], d.Offset)
	binary.LittleEndian.PutUint64(bytes[16:], d.Length)
	return bytes
}

// DecodeDescriptor decodes the body of an entry with FlagLent.
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

// Check validates a descriptor against the size of its segment and the agreed number of lends.
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
