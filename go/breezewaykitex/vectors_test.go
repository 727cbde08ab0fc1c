package breezewaykitex_test

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// Bytes of a frame in front of its body, and the kind of windows, which come when a server likes.
const (
	frameHead  = 16
	windowKind = 4
)

// TestUsersVectors plays the conversations of docs/vectors/users.txt with a server.
func TestUsersVectors(t *testing.T) {
	text, err := os.ReadFile("../../docs/vectors/users.txt")
	if err != nil {
		t.Fatal(err)
	}
	service := newTable()
	path := t.TempDir() + "/users"
	t.Cleanup(stopping(t, startUsers(t, "unix:"+path, service)))
	conversations := strings.Split(string(text), "\nconversation ")[1:]
	if len(conversations) < 20 {
		t.Fatalf("%d conversations", len(conversations))
	}
	for _, conversation := range conversations {
		name, lines, _ := strings.Cut(conversation, "\n")
		t.Run(name, func(t *testing.T) { play(t, path, lines) })
	}
}

func play(t *testing.T, path, lines string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	from := bufio.NewReader(conn)
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		switch sent, is := strings.CutPrefix(line, "> "); {
		case is:
			if _, err := conn.Write(bytesOf(t, sent)); err != nil {
				t.Fatal(err)
			}
		case line == "< hello":
			if _, err := io.ReadFull(from, make([]byte, 64)); err != nil {
				t.Fatal(err)
			}
		case line != "":
			frame := readFrame(t, from)
			if got := "< " + hex.EncodeToString(frame); got != line && failure(frame) != line {
				t.Fatalf("%s comes, and not %s", got, line)
			}
		}
	}
}

// readFrame reads the next frame that is not a window.
func readFrame(t *testing.T, from io.Reader) []byte {
	t.Helper()
	for {
		frame := make([]byte, frameHead)
		if _, err := io.ReadFull(from, frame); err != nil {
			t.Fatal(err)
		}
		body := make([]byte, binary.LittleEndian.Uint32(frame))
		if _, err := io.ReadFull(from, body); err != nil {
			t.Fatal(err)
		}
		if frame[4] != windowKind {
			return append(frame, body...)
		}
	}
}

// failure returns the line of a failed call.
func failure(frame []byte) string {
	const message, finError = 1, 0x0a
	if frame[4] != message || frame[5] != finError {
		return ""
	}
	number, code := binary.LittleEndian.Uint32(frame[8:]), binary.LittleEndian.Uint32(frame[12:])
	return fmt.Sprintf("< failure %d %d", number, code)
}

func bytesOf(t *testing.T, text string) []byte {
	t.Helper()
	bytes, err := hex.DecodeString(strings.TrimSuffix(text, "-"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}
