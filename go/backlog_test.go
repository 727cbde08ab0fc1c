package breezeway

import (
	"errors"
	"io"
	"log/slog"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// A TCP socket that has accepted everything reports no further room.
func TestWhatIsOwedBehindABacklogOverTCPIsSentAlthoughNothingElseIs(t *testing.T) {
	received := make(chan error, 1)
	server := &Server{Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Streams: func(stream *Stream) {
			if stream.Method() == 2 {
				_, err := stream.Recv(contextOf(t))
				received <- err
			}
			<-stream.session.done
		}}
	if err := server.Listen("tcp:127.0.0.1:0", StreamWindow(1<<20, 1<<40)); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	defer func() {
		_ = server.Close()
		soon(t, "the server's end", served)
	}()
	conn, err := Dial(contextOf(t), server.Addresses()[0].String(), HandshakeTimeout(1e10))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	first, err := conn.Open(contextOf(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	second, err := conn.Open(contextOf(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	client, serving := conn.session, sessionOf(t, server)
	_ = client.raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<20)
	})
	if err != nil {
		t.Fatal(err)
	}
	serving.mu.Lock() // The server reads nothing in between.
	client.mu.Lock()
	for err == nil {
		err = client.transmit(proto.Head{Kind: proto.KindMessage, Stream: first.state.Number()},
			&outgoing{bytes: make([]byte, 64<<10)})
		client.flush()
	}
	client.mu.Unlock()
	if !errors.Is(err, shm.ErrFull) {
		t.Error(err)
	}
	second.Reset(CodeOverloaded)
	serving.mu.Unlock()
	if err := soon(t, "the reset", received); !errors.As(err, new(*ResetError)) {
		t.Errorf("the other side received %v", err)
	}
}
