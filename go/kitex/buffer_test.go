package kitex

import (
	"bytes"
	"math/rand"
	"net"
	"testing"

	"github.com/cloudwego/gopkg/protocol/thrift"
)

// sent is a connection that keeps what is written.
type sent struct {
	net.Conn
	bytes.Buffer
}

func (s *sent) Write(b []byte) (int, error) { return s.Buffer.Write(b) }
func (s *sent) Read(b []byte) (int, error)  { return s.Buffer.Read(b) }

func TestWhatIsWrittenInAnyWayIsSentInOrder(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	some := func(most int) []byte {
		b := make([]byte, random.Intn(most))
		random.Read(b)
		return b
	}
	to := new(sent)
	w := &writer{to: to}
	for range 2000 {
		var want []byte
		for range random.Intn(12) {
			b := some(10_000)
			switch random.Intn(4) {
			case 0:
				room, err := w.Malloc(len(b))
				if err != nil {
					t.Fatal(err)
				}
				copy(room, b)
			case 1:
				if _, err := w.WriteBinary(b); err != nil {
					t.Fatal(err)
				}
			case 2:
				if _, err := w.WriteString(string(b)); err != nil {
					t.Fatal(err)
				}
			default:
				// As Kitex's codec does: room for everything, of which long fields use none.
				first, last := some(100), some(100)
				all := len(first) + len(b) + len(last)
				room, err := w.Malloc(all)
				written := w.WrittenLen()
				if err != nil {
					t.Fatal(err)
				}
				copy(room, first)
				if err := w.WriteDirect(b, all-len(first)); err != nil {
					t.Fatal(err)
				}
				copy(room[len(first):], last)
				if err := w.MallocAck(written); err != nil {
					t.Fatal(err)
				}
				b = append(append(first, b...), last...)
			}
			want = append(want, b...)
			if w.WrittenLen() != len(want) {
				t.Fatalf("%d bytes are said to be written, %d were", w.WrittenLen(), len(want))
			}
		}
		if random.Intn(10) == 0 {
			_ = w.Release(nil)
			want = nil
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(to.Bytes(), want) {
			t.Fatalf("%d bytes were sent otherwise", len(want))
		}
		to.Reset()
	}
}

func TestALongFieldIsSentFromWhereItIs(t *testing.T) {
	w := &writer{to: new(sent)}
	field := make([]byte, 1<<20)
	room, err := w.Malloc(4 + len(field))
	if err != nil {
		t.Fatal(err)
	}
	written := w.WrittenLen()
	thrift.Binary.WriteBinaryNocopy(room, w, field)
	if err := w.MallocAck(written); err != nil {
		t.Fatal(err)
	}
	if len(w.done) != 2 || &w.done[1][0] != &field[0] {
		t.Error("it was copied")
	}
}

func TestMisplacedBytesAreRefused(t *testing.T) {
	w := &writer{to: new(sent)}
	if _, err := w.Malloc(10); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"before what was handed out": w.WriteDirect(nil, 11),
		"behind what was handed out": w.WriteDirect(nil, -1),
		"more than was handed out":   w.MallocAck(11),
		"less than nothing":          w.MallocAck(-1),
	} {
		if err == nil {
			t.Error(name)
		}
	}
}
