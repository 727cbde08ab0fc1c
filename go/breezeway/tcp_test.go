package breezeway

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestVanishedHostsAreProbedAndGivenUpOnBothSides(t *testing.T) {
	server, address := quietServer(t, "tcp:127.0.0.1:0",
		func(_ context.Context, call *Call) error { return call.Echo() })
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	honest(t, conn)
	for _, s := range append(server.all(), conn.session) {
		err := s.raw.Control(func(fd uintptr) {
			for _, option := range []struct {
				name              string
				level, opt, value int
			}{
				{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
				{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
				{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 30},
				{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 10},
				{"TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
				{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 120_000},
			} {
				value, err := unix.GetsockoptInt(int(fd), option.level, option.opt)
				if err != nil || value != option.value {
					t.Errorf("client %v: %s is %d, %v", s.isClient, option.name, value, err)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// The user time-out also cuts probing short (tcp(7)).
	const probed = keepAliveIdle + keepAliveProbes*keepAliveInterval
	if probed >= userTimeout || probed > time.Minute {
		t.Fatalf("probing takes %v", probed)
	}
}
