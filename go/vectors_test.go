package breezeway_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// TestTheServerAnswersAsTheVectorsSay plays what docs/vectors/conversations.txt says that a client
// sends.
func TestTheServerAnswersAsTheVectorsSay(t *testing.T) {
	text, err := os.ReadFile("../docs/vectors/conversations.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go", "rust"} {
		t.Run(name, func(t *testing.T) {
			address := servers[name](t, "unix")
			for _, part := range strings.Split(string(text), "conversation ")[1:] {
				lines := strings.Split(strings.TrimSpace(part), "\n")
				t.Run(lines[0], func(t *testing.T) { play(t, address, lines[1:]) })
			}
		})
	}
}

func play(t *testing.T, address string, lines []string) {
	where, err := breezeway.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", where.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		direction, what, _ := strings.Cut(line, " ")
		if direction == ">" {
			// A server that refuses at once may have closed; what it said is still read.
			_, _ = conn.Write(decoded(t, what))
			continue
		}
		if err := expect(conn, what); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

func decoded(t *testing.T, text string) []byte {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func expect(conn net.Conn, what string) error {
	var status byte
	switch {
	case what == "end":
		rest, err := io.ReadAll(conn)
		if strings.Contains(fmt.Sprint(err), "reset by peer") {
			err = nil // It had not read all that was sent.
		}
		shutdown := []byte{0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		if len(rest) > 0 && !bytes.Equal(rest, shutdown) || err != nil {
			return fmt.Errorf("got %x and %v", rest, err)
		}
		return nil
	case what == "hello":
	case strings.HasPrefix(what, "refusal "):
		status = what[len(what)-1] - '0'
	default:
		wanted, err := hex.DecodeString(what)
		if err != nil {
			return err
		}
		got := make([]byte, len(wanted))
		if n, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, wanted) {
			return fmt.Errorf("got %x and %v", got[:n], err)
		}
		return nil
	}
	hello := make([]byte, 64)
	if n, err := io.ReadFull(conn, hello); err != nil {
		return fmt.Errorf("got %x and %v", hello[:n], err)
	}
	if string(hello[:8]) != "BRZWHELO" || hello[40] != status {
		return fmt.Errorf("got the hello %x", hello)
	}
	reason := int(hello[10]) | int(hello[11])<<8 - 64
	_, err := io.CopyN(io.Discard, conn, int64(reason))
	return err
}
