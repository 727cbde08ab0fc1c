package breezeway

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// asks sends calls on numbers from 1 on.
func asks(client lastClient, calls int, more ...lastEntry) {
	var entries []lastEntry
	for call := range uint32(calls) {
		entries = append(entries, lastEntry{proto.RequestFlags, 2*call + 1, "x"})
	}
	client.says(append(entries, more...)...)
}

// setLinger changes how long a session waits at its end for a client that takes nothing.
func (s *session) setLinger(linger time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linger = linger
}

func TestLateClientLosesItsSessionThoughACallIsServed(t *testing.T) {
	const size, calls = 1 << 20, 3
	ended, cancelled := make(chan error, 1), make(chan error, 1)
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	server, _ := quietServer(t, address, func(call *Call) error {
		if call.head.Stream == 1 {
			<-call.Context().Done()
			cancelled <- call.Context().Err()
		}
		return call.Reply(make([]byte, size))
	}, Offload(calls), ReplyTimeout(time.Minute),
		OnSessionEnd(func(_ Peer, err error) { ended <- err }))
	client := dialByHand(t, address, smallHello())
	sessionOf(t, server).setLinger(20 * time.Millisecond)
	asks(client, calls, shutsDown)
	soon(t, "the end of the held call", cancelled)
	if err := soon(t, "the session's end", ended); err != nil {
		t.Error(err)
	}
}
