package proto

import (
	"encoding/binary"
	"fmt"
	"math"
)

// FrameLen is the length of the header that precedes a body on a socket (section 8). MaxFrameBody
// is the length of the longest body that it can announce, in whole pages.
const (
	FrameLen     = 16
	MaxFrameBody = math.MaxUint32 + 1 - Page
)

// WindowLen is the length of the body of an entry of kind window.
const WindowLen = 8

// AppendFrame appends the header of a frame with a body of length bytes.
func AppendFrame(to []byte, head Head, length int) []byte {
	to = binary.LittleEndian.AppendUint32(to, uint32(length))
	to = append(to, byte(head.Kind), byte(head.Flags))
	to = binary.LittleEndian.AppendUint16(to, head.Time)
	to = binary.LittleEndian.AppendUint32(to, head.Stream)
	return binary.LittleEndian.AppendUint32(to, head.Tag)
}

// DecodeFrame validates a header. It returns the head and the length of the body, which for a
// message is at most limit.
func DecodeFrame(bytes []byte, limit uint64) (Head, int, error) {
	head := Head{
		Kind: Kind(bytes[4]), Flags: Flags(bytes[5]),
		Time:   binary.LittleEndian.Uint16(bytes[6:]),
		Stream: binary.LittleEndian.Uint32(bytes[8:]),
		Tag:    binary.LittleEndian.Uint32(bytes[12:]),
	}
	length := uint64(binary.LittleEndian.Uint32(bytes))
	var longest, shortest uint64
	switch head.Kind {
	case KindMessage:
		if head.Flags.Has(FlagLent) {
			return head, 0, fmt.Errorf("flags %#02x do not belong together here", head.Flags)
		}
		longest = min(limit, MaxFrameBody)
	case KindWindow:
		shortest, longest = WindowLen, WindowLen
	case KindReset, KindCancel, KindGoAway, KindShutdown:
	default:
		return head, 0, fmt.Errorf("a frame of kind %d", head.Kind)
	}
	if length < shortest || length > longest {
		return head, 0, fmt.Errorf("a frame of kind %d with %d bytes; it has %d to %d",
			head.Kind, length, shortest, longest)
	}
	return head, int(length), nil
}
