package breezeway_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// assignedFeatures holds the feature bits that docs/abi.md gives a meaning to.
const assignedFeatures = 0x1

// offerNothing clears the features of a hello, which has no fields.
func offerNothing(hello []byte) []byte {
	binary.LittleEndian.PutUint32(hello[12:], 0)
	return hello
}

// offerMore adds every unassigned feature to a hello, and unknown fields up to the longest hello.
func offerMore(hello []byte) []byte {
	const longest, head = 4096, 4
	features := binary.LittleEndian.Uint32(hello[12:])
	binary.LittleEndian.PutUint32(hello[12:], features|^uint32(assignedFeatures))
	field := func(kind uint16, value []byte) {
		hello = binary.LittleEndian.AppendUint16(hello, kind)
		hello = binary.LittleEndian.AppendUint16(hello, uint16(len(value)))
		hello = append(hello, value...)
	}
	field(0x8000, nil)
	field(0x8001, []byte{0xff})
	field(0xffff, bytes.Repeat([]byte{0xee}, longest-len(hello)-head))
	binary.LittleEndian.PutUint16(hello[10:], longest)
	return hello
}

// offering returns the address of a relay to a server, which alters both hellos.
func offering(t *testing.T, address string, alter func([]byte) []byte) string {
	to, err := breezeway.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	network, target := "unix", to.Path
	own := addressOf(t, to.Carrier.String())
	_, place, _ := strings.Cut(own, ":")
	if to.Carrier == breezeway.TCP {
		_, target, _ = strings.Cut(address, ":")
		network = "tcp"
	}
	listener, err := net.Listen(network, place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, target)
			if err != nil {
				_ = client.Close()
				return
			}
			go pass(client, server, alter)
			go pass(server, client, alter)
		}
	}()
	if to.Carrier == breezeway.TCP {
		return "tcp:" + listener.Addr().String()
	}
	return own
}

// pass passes a hello, altered, and then every byte with its descriptors.
func pass(from, to net.Conn, alter func([]byte) []byte) {
	defer to.Close()
	hello, fds := take(from, 64)
	for len(hello) > 0 && len(hello) < 64 {
		more, _ := take(from, 64-len(hello))
		if len(more) == 0 {
			return
		}
		hello = append(hello, more...)
	}
	if len(hello) == 0 {
		return
	}
	room := 1 << 16
	if binary.LittleEndian.Uint64(hello[24:]) != 0 {
		room = 1 // Over shared memory, so that a descriptor stays with its byte.
	}
	for bytes := alter(hello); give(to, bytes, fds); {
		if bytes, fds = take(from, room); len(bytes) == 0 {
			return
		}
	}
}

// take reads bytes with their descriptors. It returns no bytes at the end.
func take(from net.Conn, room int) (bytes []byte, fds []int) {
	bytes = make([]byte, room)
	socket, isUnix := from.(*net.UnixConn)
	if !isUnix {
		n, _ := from.Read(bytes)
		return bytes[:n], nil
	}
	control := make([]byte, 128)
	n, controlLen, _, _, err := socket.ReadMsgUnix(bytes, control)
	if err != nil {
		return nil, nil
	}
	messages, _ := unix.ParseSocketControlMessage(control[:controlLen])
	for i := range messages {
		rights, _ := unix.ParseUnixRights(&messages[i])
		fds = append(fds, rights...)
	}
	return bytes[:n], fds
}

// give writes bytes with descriptors, which it closes. It returns false at the end.
func give(to net.Conn, bytes []byte, fds []int) bool {
	if len(fds) == 0 {
		_, err := to.Write(bytes)
		return err == nil
	}
	n, _, err := to.(*net.UnixConn).WriteMsgUnix(bytes, unix.UnixRights(fds...), nil)
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	return err == nil && give(to, bytes[n:], nil)
}

func TestCallsAndStreamsWhateverThePeersOffer(t *testing.T) {
	offers := map[string]func([]byte) []byte{
		"nothing": offerNothing, "everything and more": offerMore,
	}
	start := map[string]func(t *testing.T, carrier string) string{
		"rust": func(t *testing.T, carrier string) string { return rustServer(t, carrier) },
		"go": func(t *testing.T, carrier string) string {
			streams := func(_ context.Context, s *breezeway.Stream) { vectorStream(s, nil) }
			return goServer(t, carrier, echoes, streams)
		},
	}
	for _, carrier := range []string{"shm", "unix", "tcp"} {
		for offer, alter := range offers {
			for language, server := range start {
				t.Run(strings.Join([]string{carrier, offer, language}, "/"), func(t *testing.T) {
					callsAndStreams(t, offering(t, server(t, carrier), alter), language == "go")
				})
			}
		}
	}
}

func callsAndStreams(t *testing.T, address string, hasStreams bool) {
	ctx := within(t, time.Minute)
	conn, err := breezeway.Dial(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	messages := [][]byte{{}, []byte("small"), bytes.Repeat([]byte("x"), 104)}
	if conn.Carrier() != breezeway.Shm { // A segment must not arrive behind its entry.
		messages = append(messages, bytes.Repeat([]byte("large"), 100_000))
	}
	for _, message := range messages {
		reply, err := conn.Call(ctx, echo, message)
		if err != nil {
			t.Fatal(err)
		}
		if got := reply.Bytes(); !bytes.Equal(got, message) {
			t.Fatalf("%d bytes, not %d", len(got), len(message))
		}
		reply.Release()
	}
	if !hasStreams {
		return
	}
	stream, err := conn.Open(ctx, echo)
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range messages {
		if err := stream.Send(ctx, message); err != nil {
			t.Fatal(err)
		}
		reply, err := stream.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got := reply.Bytes(); !bytes.Equal(got, message) {
			t.Fatalf("%d bytes, not %d", len(got), len(message))
		}
		reply.Release()
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(ctx); err != io.EOF {
		t.Fatal(err)
	}
}
