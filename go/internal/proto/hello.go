package proto

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// HelloLen is the length of a hello without fields behind its fixed part, MaxHello that of the
// longest hello, and MaxReason that of the longest reason.
const (
	HelloLen  = 64
	MaxHello  = 4096
	MaxReason = 256
)

const (
	helloMagic  = "BRZWHELO"
	maxMetadata = 65535
)

// A Hello is the first message of each side (section 2).
type Hello struct {
	RingCapacity   uint32
	LendCount      uint32
	PayloadCap     uint64
	Memory         bool
	StreamMessages uint32
	StreamBytes    uint64
	MaxStreams     uint16
	Service        uint16
	MaxMetadata    uint32
	GoAway         bool // feature: accepts go-away even if MaxStreams is 0
}

// featureGoAway is a bit in the features of a hello.
const featureGoAway = 1

// TakesGoAway returns true if the sender accepts an entry of kind go-away (section 1.2).
func (h *Hello) TakesGoAway() bool { return h.GoAway || h.MaxStreams > 0 }

// A Refusal is a hello that refuses the session.
type Refusal struct {
	Status uint32
	Reason string
}

// Statuses of a refusal.
const (
	RefusedVersion   = 1
	RefusedDenied    = 2
	RefusedBusy      = 3
	RefusedNoMemory  = 4
	RefusedViolation = 5
	RefusedCarrier   = 6
)

func (r *Refusal) Error() string {
	return fmt.Sprintf("the server refuses: %s (status %d)", r.Reason, r.Status)
}

// A HelloError names the rule that a hello breaks. Answer is the status that the server answers, or
// 0 if it does not answer.
type HelloError struct {
	Answer uint32
	Text   string
}

func (e *HelloError) Error() string { return e.Text }

// StatusOf returns the status with which a server answers an error of a client's hello, or 0 if it
// does not answer.
func StatusOf(err error) uint32 {
	var hello *HelloError
	var refusal *Refusal
	switch {
	case errors.As(err, &hello):
		return hello.Answer
	case errors.As(err, &refusal):
		return RefusedViolation // A client that refuses.
	}
	return 0
}

// HelloViolation returns the error of a hello that breaks a rule.
func HelloViolation(format string, args ...any) error {
	return &HelloError{RefusedViolation, fmt.Sprintf(format, args...)}
}

func helloFrame(length int) []byte {
	bytes := make([]byte, length)
	copy(bytes, helloMagic)
	binary.LittleEndian.PutUint16(bytes[8:], Version)
	binary.LittleEndian.PutUint16(bytes[10:], uint16(length))
	return bytes
}

func (h *Hello) controlSize() uint64 {
	if !h.Memory {
		return 0
	}
	return ControlSize(h.RingCapacity)
}

// Encode returns the encoded hello.
func (h *Hello) Encode() []byte {
	bytes := helloFrame(HelloLen)
	if h.GoAway {
		binary.LittleEndian.PutUint32(bytes[12:], featureGoAway)
	}
	binary.LittleEndian.PutUint32(bytes[16:], h.RingCapacity)
	binary.LittleEndian.PutUint32(bytes[20:], h.LendCount)
	binary.LittleEndian.PutUint64(bytes[24:], h.controlSize())
	binary.LittleEndian.PutUint64(bytes[32:], h.PayloadCap)
	binary.LittleEndian.PutUint32(bytes[44:], h.StreamMessages)
	binary.LittleEndian.PutUint64(bytes[48:], h.StreamBytes)
	binary.LittleEndian.PutUint16(bytes[56:], h.MaxStreams)
	binary.LittleEndian.PutUint16(bytes[58:], h.Service)
	binary.LittleEndian.PutUint32(bytes[60:], h.MaxMetadata)
	return bytes
}

// EncodeRefusal returns an encoded refusal. It cuts a long reason at a character.
func EncodeRefusal(status uint32, reason string) []byte {
	if len(reason) > MaxReason {
		reason = strings.ToValidUTF8(reason[:MaxReason], "")
	}
	bytes := helloFrame(HelloLen + len(reason))
	binary.LittleEndian.PutUint32(bytes[40:], status)
	copy(bytes[HelloLen:], reason)
	return bytes
}

// HelloWanted returns the number of bytes that may be read next, or 0 once the hello is complete. A
// receiver never reads a byte behind the hello. HelloWanted returns an error as soon as bytes
// cannot begin a hello.
func HelloWanted(bytes []byte) (int, error) {
	if known := min(len(bytes), len(helloMagic)); string(bytes[:known]) != helloMagic[:known] {
		return 0, &HelloError{0, fmt.Sprintf(
			"the peer does not speak Breezeway: its first bytes are %x", bytes[:known])}
	}
	if len(bytes) < HelloLen {
		return HelloLen - len(bytes), nil
	}
	length := int(binary.LittleEndian.Uint16(bytes[10:]))
	if length < HelloLen || length > MaxHello {
		return 0, HelloViolation("hello length %d is not in %d..=%d", length, HelloLen, MaxHello)
	}
	return length - len(bytes), nil
}

// DecodeHello decodes a complete hello. A refusal is an error of type *Refusal.
func DecodeHello(bytes []byte) (*Hello, error) {
	if status := binary.LittleEndian.Uint32(bytes[40:]); status != 0 {
		reason := bytes[HelloLen:]
		return nil, &Refusal{status, printable(reason[:min(len(reason), MaxReason)])}
	}
	if version := binary.LittleEndian.Uint16(bytes[8:]); version != Version {
		return nil, &HelloError{RefusedVersion,
			fmt.Sprintf("the peer speaks version %d of the "+
				"protocol, this side version %d; upgrade the older one", version, Version)}
	}
	found := binary.LittleEndian.Uint64(bytes[24:])
	hello := &Hello{
		RingCapacity:   binary.LittleEndian.Uint32(bytes[16:]),
		LendCount:      binary.LittleEndian.Uint32(bytes[20:]),
		PayloadCap:     binary.LittleEndian.Uint64(bytes[32:]),
		Memory:         found != 0,
		StreamMessages: binary.LittleEndian.Uint32(bytes[44:]),
		StreamBytes:    binary.LittleEndian.Uint64(bytes[48:]),
		MaxStreams:     binary.LittleEndian.Uint16(bytes[56:]),
		Service:        binary.LittleEndian.Uint16(bytes[58:]),
		MaxMetadata:    binary.LittleEndian.Uint32(bytes[60:]),
		GoAway:         binary.LittleEndian.Uint32(bytes[12:])&featureGoAway != 0,
	}
	if err := hello.check(found); err != nil {
		return hello, err
	}
	return hello, checkFields(bytes[HelloLen:])
}

// checkFields validates the fields behind the fixed part. All types are unknown, so all values are
// ignored.
func checkFields(bytes []byte) error {
	const head = 4
	for before := -1; len(bytes) > 0; {
		if len(bytes) < head {
			return HelloViolation("hello field with a head of %d bytes where %d are needed",
				len(bytes), head)
		}
		kind := int(binary.LittleEndian.Uint16(bytes))
		length := int(binary.LittleEndian.Uint16(bytes[2:]))
		if bytes = bytes[head:]; length > len(bytes) {
			return HelloViolation("hello field of type %#04x has %d bytes where %d are left", kind,
				length, len(bytes))
		}
		if kind <= before {
			return HelloViolation("hello field of type %#04x lies behind one of type %#04x: "+
				"types ascend", kind, before)
		}
		before, bytes = kind, bytes[length:]
	}
	return nil
}

func (h *Hello) check(controlSize uint64) error {
	if ring := h.RingCapacity; ring&(ring-1) != 0 || ring < MinRing || ring > MaxRing {
		return HelloViolation("ring capacity %d is not a power of two in %d..=%d", ring, MinRing,
			MaxRing)
	}
	if lends := h.LendCount; lends%64 != 0 || lends < MinLends || lends > MaxLends {
		return HelloViolation("lend count %d is not a multiple of 64 in %d..=%d", lends, MinLends,
			MaxLends)
	}
	if expected := h.controlSize(); controlSize != expected {
		return HelloViolation("control size %d is not %d, as ring capacity %d requires",
			controlSize, expected, h.RingCapacity)
	}
	if h.PayloadCap == 0 || h.PayloadCap%Page != 0 {
		return HelloViolation("payload cap %d is not a non-zero multiple of %d", h.PayloadCap, Page)
	}
	if h.MaxStreams > 0 && (h.StreamMessages == 0 || h.StreamBytes == 0) {
		return HelloViolation("%d streams with a window of %d messages and %d bytes", h.MaxStreams,
			h.StreamMessages, h.StreamBytes)
	}
	if h.MaxMetadata > maxMetadata {
		return HelloViolation("metadata limit %d is past %d", h.MaxMetadata, maxMetadata)
	}
	return nil
}

// CheckMemory returns an error unless both sides offer shared memory, or neither does.
func (h *Hello) CheckMemory(own *Hello, carrier string) error {
	if h.Memory == own.Memory {
		return nil
	}
	return &HelloError{RefusedCarrier, fmt.Sprintf("this side speaks %s: here and the peer "+
		"does not; use the same scheme on both sides", carrier)}
}

// maxMirroredRing is the largest ring that a server creates because of its client's ring.
const maxMirroredRing = 1024

// Mirror makes a server's ring as large as that of its client, up to a limit, so that the client
// can have as many calls in flight as it wants.
func (h *Hello) Mirror(client *Hello) {
	h.RingCapacity = max(h.RingCapacity, min(client.RingCapacity, maxMirroredRing))
}

// MaxInFlight returns the maximum number of calls in flight between sides with these rings.
func MaxInFlight(one, other uint32) int { return int(min(one, other) / 2) }

// SegmentCap returns the maximum size of the payload segments per direction. With streams it is a
// quarter more than the largest message.
func SegmentCap(one, other *Hello) uint64 {
	limit := min(one.PayloadCap, other.PayloadCap)
	if one.MaxStreams > 0 || other.MaxStreams > 0 {
		limit += limit / 4
	}
	return limit / Page * Page
}

// printable makes a peer's text fit for a log.
func printable(bytes []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, string(bytes))
}
