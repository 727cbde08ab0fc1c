package breezeway

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// A connection without traffic is probed after keepAliveIdle, and then every keepAliveInterval.
	keepAliveIdle     = 30 * time.Second
	keepAliveInterval = 10 * time.Second
	keepAliveProbes   = 3
	// userTimeout is how long the peer may leave sent data unacknowledged, or its window closed. A
	// stopped or busy process does both as well, so this is longer than probing takes.
	userTimeout = 120 * time.Second
)

// prepareTCP makes the connection end if its host has vanished: after a minute without sent data,
// after two minutes with it (tcp(7)). Package net disables Nagle's algorithm by default.
func prepareTCP(raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		for _, option := range []struct{ level, name, value int }{
			{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(keepAliveIdle / time.Second)},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(keepAliveInterval / time.Second)},
			{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveProbes},
			{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout / time.Millisecond)},
		} {
			failed = errors.Join(failed,
				unix.SetsockoptInt(int(fd), option.level, option.name, option.value))
		}
	})
	return errors.Join(err, failed)
}

// listenTCP returns a plain TCP listener. prepareTCP configures its connections.
func listenTCP(address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1}
	config.SetMultipathTCP(false)
	return config.Listen(context.Background(), "tcp", address)
}
