package breezewaykitex_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/lists"
	linked "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/lists/lists"
)

// framings are the functions that frame a message as plain clients do.
var framings = map[string]func(message []byte) []byte{
	"buffered": func(message []byte) []byte { return message },
	"framed":   framed,
	"TTHeader": headed,
	"TTHeader and framed": func(message []byte) []byte {
		return headed(framed(message))
	},
}

func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// headed returns a message behind a TTHeader without values.
func headed(message []byte) []byte {
	return framed(append([]byte{0x10, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0}, message...))
}

// putMessage returns a call of Lists.put with arguments, as Thrift's binary protocol has it.
func putMessage(arguments []byte) []byte {
	return append([]byte("\x80\x01\x00\x01\x00\x00\x00\x03put\x00\x00\x00\x01"), arguments...)
}

// withLists runs a test with a server of Lists at a unix socket.
func withLists(t *testing.T, test func(path string, honest linked.Client)) {
	path := t.TempDir() + "/lists"
	t.Cleanup(stopping(t, start(t, "unix:"+path, func(opts ...server.Option) server.Server {
		return linked.NewServer(new(nodes), opts...)
	})))
	honest, err := linked.NewClient("Lists", breezewaykitex.Client("unix:"+path))
	if err != nil {
		t.Fatal(err)
	}
	test(path, honest)
}

// answer sends bytes as a plain client, and returns those that come back until the connection ends.
func answer(t *testing.T, path string, sent []byte) []byte {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	go func() { // The server may end the connection before it has read all.
		_, _ = conn.Write(sent)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	received, err := io.ReadAll(conn)
	if ne, is := err.(net.Error); is && ne.Timeout() {
		t.Error("the server does not answer")
	}
	return received
}

func TestPlainHostileContainersFailTheCallAlone(t *testing.T) {
	withLists(t, func(path string, honest linked.Client) {
		for framing, frame := range framings {
			for name, digits := range hostileNodes {
				if framing == "buffered" && name == "bytes behind" {
					continue // There they are the next request.
				}
				body, err := hex.DecodeString(digits)
				if err != nil {
					t.Fatal(err)
				}
				received := answer(t, path, frame(putMessage(body)))
				if len(received) > 0 && !bytes.Contains(received, []byte("cannot be read")) {
					t.Errorf("%s, %s: the server answers %q", framing, name, received)
				}
			}
			whole := frame(putMessage([]byte("\x0c\x00\x01\x00\x00")))
			if received := answer(t, path, whole); !bytes.Contains(received, []byte("put")) ||
				bytes.Contains(received, []byte("cannot be read")) {
				t.Errorf("%s: a whole request gets %q", framing, received)
			}
		}
		if err := honest.Put(context.Background(), &lists.Node{}); err != nil {
			t.Error(err)
		}
	})
}

func TestPlainLengthsAloneAllocateLittle(t *testing.T) {
	const most = 64 << 20
	long := func(digits string) []byte {
		decoded, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		return decoded
	}
	withLists(t, func(path string, honest linked.Client) {
		for name, sent := range map[string][]byte{
			"frame":               append(long("7fffffff"), putMessage(nil)...),
			"name":                long("800100017fffffff61"),
			"string":              putMessage(long("0b00097fffffff61")),
			"list of doubles":     putMessage(long("0f0009047fffffff61")),
			"map":                 putMessage(long("0d00090a0a7fffffff61")),
			"name within a frame": framed(long("800100017fffffff61")),
			"string of a set":     framed(putMessage(long("0c00010e00050b000000017fffffff61"))),
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			answer(t, path, sent)
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > most {
				t.Errorf("%s: %d bytes are allocated", name, grown)
			}
		}
		if err := honest.Put(context.Background(), &lists.Node{}); err != nil {
			t.Error(err)
		}
	})
}
