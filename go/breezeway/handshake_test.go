package breezeway

import (
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A lineLog receives the lines of a log.
type lineLog chan string

func (l lineLog) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// noSessionReason returns the logged reason why a client that sends nothing gets no session.
func noSessionReason(t *testing.T, stops bool, opts ...ServerOption) string {
	lines := make(lineLog, 100)
	server := &Server{log: slog.New(slog.NewTextHandler(lines,
		&slog.HandlerOptions{Level: slog.LevelDebug}))}
	path := filepath.Join(t.TempDir(), "s")
	if err := server.listen("unix:"+path, opts...); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if stops {
		eventually(t, "its entry", func() bool {
			server.mu.Lock()
			defer server.mu.Unlock()
			return len(server.pending) == 1
		})
	} else if _, err := io.ReadAll(conn); err != nil { // The server gives up first.
		t.Fatal(err)
	}
	_ = server.Close()
	soon(t, "the server's end", served)
	return soon(t, "a line", lines)
}

func TestMissingHelloIsLoggedWithItsCause(t *testing.T) {
	reason := noSessionReason(t, true, WithHandshakeTimeout(time.Hour))
	if !strings.Contains(reason, "the server stopped before the hello") {
		t.Errorf("at the stop: %s", reason)
	}
	reason = noSessionReason(t, false, WithHandshakeTimeout(time.Millisecond))
	if !strings.Contains(reason, "no hello within 1ms") {
		t.Errorf("at the end of its time: %s", reason)
	}
}
