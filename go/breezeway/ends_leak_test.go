package breezeway

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// holdings counts resources of this process that sessions could leak.
type holdings struct{ goroutines, files, segments int }

func holdingsNow(t *testing.T) holdings {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return holdings{runtime.NumGoroutine(), openFiles(t), strings.Count(string(maps), "memfd:")}
}

func (h holdings) areWithin(most holdings) bool {
	return h.goroutines <= most.goroutines && h.files <= most.files && h.segments <= most.segments
}

// interruptions end the service that continues after a client's shutdown.
var interruptions = map[string]func(t *testing.T, server *Server, client lastClient){
	"the client leaves": func(_ *testing.T, _ *Server, client lastClient) { client.leaves() },
	"Close":             func(_ *testing.T, server *Server, _ lastClient) { _ = server.Close() },
	"a Shutdown whose context ends": func(t *testing.T, server *Server, _ lastClient) {
		ctx, cancel := context.WithCancel(contextOf(t))
		ended := make(chan error, 1)
		go func() { ended <- server.Shutdown(ctx) }()
		eventually(t, "the drain", server.isClosed)
		cancel()
		soon(t, "Shutdown", ended)
	},
	"no reply is taken": func(*testing.T, *Server, lastClient) {},
}

// endInTheMiddle interrupts the end of a session with replies that wait for room, calls that are
// being served, and a stream whose reader's context ends.
func endInTheMiddle(t *testing.T, carrier string,
	interrupt func(t *testing.T, server *Server, client lastClient)) {
	const calls = 4
	may, reader, read := make(chan struct{}), make(chan *Stream, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(contextOf(t))
	ended, served := make(chan error, 1), make(chan error, 1)
	server := &Server{log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		handler: func(_ context.Context, call *Call) error {
			if call.head.Stream == 1 {
				<-may
			}
			return call.Reply(make([]byte, twoFit))
		},
		streams: func(_ context.Context, stream *Stream) {
			reader <- stream
			_, err := stream.Recv(ctx)
			read <- err
		},
	}
	path := filepath.Join(t.TempDir(), "s")
	if err := server.listen(carrier+":"+path, WithOffload(calls),
		WithReplyTimeout(10*time.Millisecond),
		WithOnSessionEnd(func(_ Peer, err error) { ended <- err })); err != nil {
		t.Fatal(err)
	}
	go func() { served <- server.Serve() }()
	client := lastClients[carrier](t, path)
	s := sessionOf(t, server)
	s.mu.Lock()
	s.linger = 20 * time.Millisecond
	s.mu.Unlock()
	entries := []lastEntry{{proto.FlagOpen | proto.FlagStream | proto.FlagEmpty, 9, ""}}
	for call := range uint32(calls) {
		entries = append(entries, lastEntry{proto.RequestFlags, 2*call + 1, "x"})
	}
	client.says(entries...)
	soon(t, "the stream", reader)
	client.says(shutsDown)
	until(t, s, "the shutdown", func() bool { return s.ending() != nil || s.err != nil })
	interrupt(t, server, client)
	cancel()
	close(may)
	soon(t, "the reader's end", read)
	soon(t, "the session's end", ended)
	_ = server.Close()
	soon(t, "the server's end", served)
}

func TestNothingIsLeftOfAnEndThatIsInterrupted(t *testing.T) {
	for carrier := range lastClients {
		for name, interrupt := range interruptions {
			t.Run(carrier+" "+name, func(t *testing.T) {
				once := func(t *testing.T) { endInTheMiddle(t, carrier, interrupt) }
				t.Run("at first", once) // The first run creates lasting resources.
				before := holdingsNow(t)
				for round := range 10 {
					t.Run(fmt.Sprint(round), once)
				}
				eventually(t, "the end of all that the sessions had", func() bool {
					return holdingsNow(t).areWithin(before)
				})
			})
		}
	}
}
