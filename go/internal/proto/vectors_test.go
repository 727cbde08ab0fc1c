package proto

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// vectors returns the lines of a file of docs/vectors, split at " -> ".
func vectors(t testing.TB, name string) (rows [][]string) {
	text, err := os.ReadFile("../../../docs/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			rows = append(rows, strings.Split(line, " -> "))
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return rows
}

func bytesOf(t testing.TB, text string) []byte {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func named(row string) (name, rest string) {
	name, rest, _ = strings.Cut(row, " : ")
	return name, rest
}

func wordsOf(bytes []byte) (words Words) {
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(bytes[8*i:])
	}
	return words
}

func read(words *Words) (Entry, error) {
	entry := Entry{Body: new([InlineMax]byte)}
	err := entry.Unpack(words[1], words[2])
	if err == nil {
		for at := bodyWord; at < EntryWords; at++ {
			binary.LittleEndian.PutUint64(entry.Body[8*(at-bodyWord):], words[at])
		}
	}
	return entry, err
}

func TestEntriesReadAndLieAsTheVectorsSay(t *testing.T) {
	for _, row := range vectors(t, "entries.txt") {
		name, text := named(row[0])
		words := wordsOf(bytesOf(t, text))
		entry, err := read(&words)
		if row[1] == "violation" {
			if err == nil {
				t.Errorf("%s: was read", name)
			}
			continue
		}
		body := hex.EncodeToString(entry.Bytes())
		if body == "" {
			body = "-"
		}
		got := fmt.Sprint(entry.Kind, " ", uint8(entry.Flags), " ", entry.Len, " ", entry.Stream,
			" ",
			entry.Tag, " ", entry.Released, " ", entry.Time, " ", body)
		if err != nil || got != row[1] {
			t.Errorf("%s: read %q, %v; want %q", name, got, err, row[1])
		}
		packed := Words{words[0]}
		if packed.Pack(&entry.Head, entry.Released, entry.Bytes()); packed != words {
			t.Errorf("%s: written as %x, want %x", name, packed, words)
		}
	}
}

func TestDescriptorsAreJudgedAsTheVectorsSay(t *testing.T) {
	for _, row := range vectors(t, "descriptors.txt") {
		name, rest := named(row[0])
		var text string
		var size uint64
		var lends uint32
		if _, err := fmt.Sscan(rest, &text, &size, &lends); err != nil {
			t.Fatal(err)
		}
		bytes := bytesOf(t, text)
		descriptor, err := DecodeDescriptor(bytes)
		if err == nil {
			err = descriptor.Check(size, lends)
		}
		if (err == nil) != (row[1] == "ok") {
			t.Errorf("%s: %v, want %s", name, err, row[1])
		}
		if again := descriptor.Encode(); string(again[:]) != string(bytes) {
			t.Errorf("%s: written as %x", name, again)
		}
	}
}

func TestTimesAreCodedAsTheVectorsSay(t *testing.T) {
	for _, row := range vectors(t, "times.txt") {
		var micros, left int64
		var code uint16
		if _, err := fmt.Sscan(strings.Join(row, " "), &micros, &code, &left); err != nil {
			t.Fatal(err)
		}
		if micros < 1<<43 {
			if got := EncodeTime(time.Duration(micros) * time.Microsecond); got != code {
				t.Errorf("%d µs: code %d, want %d", micros, got, code)
			}
		}
		got, said := DecodeTime(code)
		if got != time.Duration(left)*time.Microsecond || said != (left > 0) {
			t.Errorf("code %d: %v, want %d µs", code, got, left)
		}
	}
}

func TestBitsAndCrossingsAreAsTheVectorsSay(t *testing.T) {
	for _, row := range vectors(t, "words.txt") {
		var lend, at, bit int
		if _, err := fmt.Sscanf(row[0], "bit %d", &lend); err == nil {
			if got := fmt.Sprint(ReleasedAt+8*(lend/64), " ", lend%64); got != row[1] {
				t.Errorf("%s: %s, want %s", row[0], got, row[1])
			}
			continue
		}
		var index, old, new uint64
		if _, err := fmt.Sscanf(row[0], "crossed %d %d %d", &index, &old, &new); err != nil {
			t.Fatal(err, at, bit)
		}
		if Crossed(index, old, new) != (row[1] == "yes") {
			t.Errorf("%s: want %s", row[0], row[1])
		}
	}
}

func TestAHelloSaysWhetherItsSenderTakesGoAway(t *testing.T) {
	for _, h := range []Hello{{}, {GoAway: true}, {MaxStreams: 1}} {
		h.RingCapacity, h.LendCount, h.PayloadCap = 64, 512, 4096
		h.StreamMessages, h.StreamBytes = 1, 1
		decoded, err := DecodeHello(h.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if want := h.GoAway || h.MaxStreams > 0; decoded.TakesGoAway() != want {
			t.Errorf("%+v takes go-away: %v", h, !want)
		}
	}
}

func FuzzHello(f *testing.F) {
	f.Add((&Hello{RingCapacity: 64, LendCount: 512, PayloadCap: 4096}).Encode())
	f.Add(EncodeRefusal(RefusedDenied, "not you"))
	for _, row := range vectors(f, "conversations.txt") {
		if text, found := strings.CutPrefix(row[0], "> "); found {
			f.Add(bytesOf(f, text))
		}
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		for end := 0; end <= len(bytes); end++ {
			wanted, err := HelloWanted(bytes[:end])
			if err != nil {
				return
			}
			if wanted > 0 {
				continue
			}
			hello, err := DecodeHello(bytes[:end])
			if err == nil && string(hello.Encode()[16:40]) != string(bytes[16:40]) {
				t.Fatalf("%x was read as %+v", bytes, hello)
			}
			return
		}
	})
}

func FuzzEntry(f *testing.F) {
	for _, row := range vectors(f, "entries.txt") {
		_, text := named(row[0])
		f.Add(bytesOf(f, text))
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) != EntrySize {
			return
		}
		words := wordsOf(bytes)
		entry, err := read(&words)
		if err != nil {
			return
		}
		var packed Words
		count := packed.Pack(&entry.Head, entry.Released, entry.Bytes())
		again, err := read(&packed)
		if err != nil || again.Head != entry.Head ||
			string(again.Bytes()) != string(entry.Bytes()) {
			t.Fatalf("%+v was read back as %+v from %d words", entry, again, count)
		}
		descriptor, err := DecodeDescriptor(entry.Bytes())
		if err == nil && descriptor.Check(1<<20, 512) == nil {
			if descriptor.Offset+descriptor.Length > 1<<20 || descriptor.Lend >= 512 {
				t.Fatalf("%+v is allowed", descriptor)
			}
		}
	})
}

func FuzzFrame(f *testing.F) {
	for _, row := range append(vectors(f, "conversations.txt"), vectors(f, "service.txt")...) {
		if text, found := strings.CutPrefix(row[0], "> "); found && len(text) >= 2*FrameLen {
			f.Add(bytesOf(f, text)[:FrameLen], uint64(1<<20))
		}
	}
	f.Fuzz(func(t *testing.T, bytes []byte, limit uint64) {
		if len(bytes) != FrameLen {
			return
		}
		head, length, err := DecodeFrame(bytes, limit)
		if err != nil {
			return
		}
		if head.Kind == KindMessage && uint64(length) > limit {
			t.Fatalf("a body of %d bytes past %d", length, limit)
		}
		if again := AppendFrame(nil, head, length); string(again) != string(bytes) {
			t.Fatalf("%x was written as %x", bytes, again)
		}
	})
}
