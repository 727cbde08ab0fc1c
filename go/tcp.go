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
	// A connection without traffic is probed from keepAliveIdle on, every keepAliveInterval.
	keepAliveIdle     = 30 * time.Second
	keepAliveInterval = 10 * time.Second
	keepAliveProbes   = 3
	// userTimeout is how long the other side may leave unacknowledged what was sent, or its window
	// closed. A process that is stopped or busy does either as well, so this is longer than probing
	// takes.
	userTimeout = 120 * time.Second
)

// prepareTCP has a host that has vanished end the connection: after a minute where nothing is sent,
// after two where something is (tcp(7)). That messages do not wait for more is the default of net.
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

// listenTCP listens as a plain TCP socket, whose connections prepareTCP prepares.
func listenTCP(address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1}
	config.SetMultipathTCP(false)
	return config.Listen(context.Background(), "tcp", address)
}
