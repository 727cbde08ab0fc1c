package breezeway

import (
	"context"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPostLeavesDoorbellToItsSleeper(t *testing.T) {
	server := &Server{handler: func(_ context.Context, call *Call) error { return call.Echo() }}
	conn := standingBy(t, server)
	s := conn.session
	s.mu.Lock()
	// The socket is read at the next number, if no goroutine drives.
	for s.rules.TakeNumber()%postsPerLook != postsPerLook-1 {
		continue
	}
	_, err := sessionOf(t, server).openStream(contextOf(t), 0, &outgoing{empty: true}, false)
	if err == nil {
		err = s.postOne(0, &outgoing{}, limit{})
	}
	s.flush()
	rung := 0
	_ = s.raw.Control(func(fd uintptr) {
		rung, _, _ = unix.Recvfrom(int(fd), make([]byte, 8), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	s.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if rung <= 0 {
		t.Error("the post has read what was to wake who sleeps")
	}
	until(t, s, "the stream's arrival", func() bool { return s.rules.Streams.OpenedByPeer() > 0 })
}

func TestAnnouncementsThatBringDoorbellsDoNotFillTheSocket(t *testing.T) {
	server := &Server{handler: func(_ context.Context, call *Call) error { return call.Echo() }}
	conn := standingBy(t, server)
	s, peer := conn.session, sessionOf(t, server)
	announce := map[string]func() error{
		"leaving to who stands by": func() error { s.leaveToStanding(); return s.err },
		"waiting for memory": func() error {
			s.memoryWaits++
			defer func() { s.memoryWaits-- }()
			return s.armRoom()
		},
	}
	for what, announce := range announce {
		s.mu.Lock()
		for range 500 {
			if err := announce(); err != nil {
				s.mu.Unlock()
				t.Fatal(err)
			}
			// This is what the peer sends for an announcement.
			_ = peer.raw.Control(func(fd uintptr) {
				_, _ = unix.SendmsgN(int(fd), []byte{0}, nil, nil, unix.MSG_DONTWAIT)
			})
		}
		unread := 0
		_ = s.raw.Control(func(fd uintptr) {
			unread, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		})
		s.mu.Unlock()
		if unread > 64 {
			t.Errorf("%s: %d bytes are left in the socket", what, unread)
		}
	}
}
