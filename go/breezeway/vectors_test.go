package breezeway_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// Methods of the service of the vectors, beside the echo of method 0: docs/vectors/README.md.
const (
	vectorHold  = 9
	vectorReset = 10
	vectorCode  = 7
	vectorDrop  = 11
)

// silence is how long a server must stay silent where no answer is expected.
const silence = 300 * time.Millisecond

// A conversation is a client's bytes and a server's answers.
type conversation struct {
	name  string
	lines []string
}

func vectorFile(t *testing.T, name string) string {
	text, err := os.ReadFile("../../docs/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func conversations(t *testing.T, name string) (list []conversation) {
	for _, part := range strings.Split(vectorFile(t, name), "\nconversation ")[1:] {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		list = append(list, conversation{lines[0], lines[1:]})
	}
	return list
}

// takesStreams returns true if the client's hello accepts streams.
func (c *conversation) takesStreams(t *testing.T) bool {
	for _, line := range c.lines {
		if direction, text, _ := strings.Cut(line, " "); direction[0] == '>' {
			hello := decoded(t, text)
			return len(hello) >= 58 && binary.LittleEndian.Uint16(hello[56:]) > 0
		}
	}
	return false
}

// play plays the conversation against the server of an engine. The server must answer as written
// there or, if pending.txt names both, as is written in that file.
func (c *conversation) play(t *testing.T, address, engine string) {
	lines, pending := c.pending(t, engine)
	t.Run(c.name, func(t *testing.T) {
		err := playLines(t, address, lines, 10*time.Second)
		switch {
		case err != nil && pending:
			t.Errorf("%v; is it held, and not pending any more?", err)
		case err != nil:
			t.Error(err)
		}
	})
}

// pending returns the lines that an engine must follow: those up to the answer that pending.txt has
// for it, if there is one.
func (c *conversation) pending(t *testing.T, engine string) ([]string, bool) {
	for _, text := range strings.Split(vectorFile(t, "pending.txt"), "\n") {
		parts := strings.SplitN(text, " : ", 4)
		if len(parts) != 4 || parts[0] != engine || parts[1] != c.name {
			continue
		}
		number, err := strconv.Atoi(parts[2])
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range c.lines {
			if strings.HasPrefix(line, "<") {
				number--
			}
			if number == 0 {
				return append(slices.Clone(c.lines[:i]), parts[3]), true
			}
		}
		t.Fatalf("%s: no such answer", text)
	}
	return c.lines, false
}

func TestTheServerAnswersAsTheVectorsSay(t *testing.T) {
	for _, name := range []string{"go", "rust"} {
		t.Run(name, func(t *testing.T) {
			// A server that takes neither streams nor metadata, as `breezeway serve` does.
			var address string
			if name == "rust" {
				address = rustServer(t, "unix")
			} else {
				address = goServer(t, "unix", echoes, nil, breezeway.WithMaxStreams(0),
					breezeway.WithMaxMetadata(0))
			}
			for _, c := range conversations(t, "conversations.txt") {
				c.play(t, address, name)
			}
		})
	}
}

func TestTheServiceAnswersAsTheVectorsSay(t *testing.T) {
	done := make(chan struct{})
	address := goServer(t, "unix", vectorCall, func(_ context.Context,
		s *breezeway.Stream) {
		vectorStream(s, done)
	},
		breezeway.WithMaxStreams(2), breezeway.WithStreamWindow(4, 1000),
		breezeway.WithMaxMetadata(64),
		breezeway.WithOffload(1024))
	t.Cleanup(func() { close(done) }) // This runs before the server's end.
	for _, c := range conversations(t, "service.txt") {
		c.play(t, address, "go")
	}
	for _, c := range conversations(t, "conversations.txt") {
		if c.takesStreams(t) {
			c.play(t, address, "go")
		}
	}
}

func vectorCall(ctx context.Context, call *breezeway.Call) error {
	if call.Method() == vectorHold {
		<-ctx.Done()
		return ctx.Err()
	}
	return call.Echo()
}

func vectorStream(t *breezeway.Stream, done <-chan struct{}) {
	ctx := context.Background()
	switch t.Method() {
	case vectorHold:
		<-done
	case vectorReset:
		m, err := t.Recv(ctx)
		if err == nil {
			m.Release()
		}
		t.Reset(breezeway.ApplicationCode(vectorCode))
	case vectorDrop:
		for {
			m, err := t.Recv(ctx)
			if err != nil {
				break
			}
			isEmpty := m.Len() == 0
			m.Release()
			if isEmpty {
				break
			}
		}
	default:
		for {
			m, err := t.Recv(ctx)
			if err == io.EOF {
				_ = t.CloseSend() // The client may have reset it.
			}
			if err != nil {
				return
			}
			err = t.SendMessage(ctx, &m)
			m.Release()
			if err != nil {
				return
			}
		}
	}
}

func playLines(t *testing.T, address string, lines []string, patience time.Duration) error {
	where, err := breezeway.ParseAddress(address)
	if err != nil {
		return err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: where.Path})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	for _, line := range lines {
		direction, what, _ := strings.Cut(line, " ")
		if direction[0] == '>' {
			count := 0
			if direction != ">" {
				if count, err = strconv.Atoi(direction[1:]); err != nil {
					return err
				}
			}
			fds := make([]int, count)
			for i := range fds {
				fds[i] = int(os.Stdin.Fd())
			}
			rights := unix.UnixRights(fds...)
			// A server that refuses at once may have closed; its answer can still be read.
			_, _, _ = conn.WriteMsgUnix(decoded(t, what), rights, nil)
			continue
		}
		if err := expect(conn, what); err != nil {
			return fmt.Errorf("%.200s: %w", line, err)
		}
	}
	return nil
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
		frame, err := readFrame(conn)
		if err == nil {
			return fmt.Errorf("got %x", frame)
		}
		if err == io.EOF || strings.Contains(fmt.Sprint(err), "reset by peer") {
			return nil
		}
		return err
	case what == "nothing":
		if err := conn.SetDeadline(time.Now().Add(silence)); err != nil {
			return err
		}
		n, err := conn.Read(make([]byte, 1))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		return fmt.Errorf("got %d bytes, %v", n, err)
	case what == "hello":
	case strings.HasPrefix(what, "refusal "):
		status = what[len(what)-1] - '0'
	default:
		wanted, err := hex.DecodeString(what)
		if err != nil {
			return err
		}
		if got, err := readFrame(conn); err != nil || !bytes.Equal(got, wanted) {
			return fmt.Errorf("got %x and %v", got, err)
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

// readFrame reads a frame that is not a window, which a server may send at any time.
func readFrame(conn net.Conn) ([]byte, error) {
	const head, windowKind = 16, 4
	for {
		frame := make([]byte, head)
		if n, err := io.ReadFull(conn, frame); err != nil {
			return frame[:n], err
		}
		frame = append(frame, make([]byte, binary.LittleEndian.Uint32(frame))...)
		if n, err := io.ReadFull(conn, frame[head:]); err != nil {
			return frame[:head+n], err
		}
		if frame[4] != windowKind {
			return frame, nil
		}
	}
}
