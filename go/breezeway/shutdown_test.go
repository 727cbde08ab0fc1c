package breezeway

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// shuttingDown starts a server of a carrier whose handler waits for release, if it is not nil, and
// returns its address and a function that begins Shutdown.
func shuttingDown(t *testing.T, address string, release chan struct{}) (string,
	func() chan error) {
	server, address := quietServer(t, address, func(_ context.Context, call *Call) error {
		if release != nil {
			<-release
		}
		return call.Echo()
	})
	return address, func() chan error {
		ended := make(chan error, 1)
		go func() { ended <- server.Shutdown(contextOf(t)) }()
		return ended
	}
}

func addressesOf(t *testing.T) map[string]string {
	folder := t.TempDir()
	return map[string]string{"shm": "shm:" + folder + "/s", "unix": "unix:" + folder + "/u",
		"tcp": "tcp:127.0.0.1:0"}
}

func TestShutdownEndsIdleSessionsAtOnce(t *testing.T) {
	for carrier, address := range addressesOf(t) {
		t.Run(carrier, func(t *testing.T) {
			address, shutDown := shuttingDown(t, address, nil)
			conn, err := Dial(contextOf(t), address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Call(contextOf(t), 0, nil); err != nil {
				t.Fatal(err)
			}
			if err := soon(t, "Shutdown", shutDown()); err != nil {
				t.Error(err)
			}
			conn.session.catchUp()
			_, err = conn.Call(contextOf(t), 0, nil)
			if !errors.Is(err, ErrPeerClosed) && !errors.Is(err, ErrGoingAway) {
				t.Errorf("a call on the session that has ended: %v", err)
			}
		})
	}
}

func TestShutdownServesRequestsThatWereCommittedBefore(t *testing.T) {
	const calls = 100 // Of which the first one holds the server.
	for carrier, address := range addressesOf(t) {
		t.Run(carrier, func(t *testing.T) {
			release := make(chan struct{})
			address, shutDown := shuttingDown(t, address, release)
			conn, err := Dial(contextOf(t), address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var all sync.WaitGroup
			for range calls {
				all.Add(1)
				go func() {
					defer all.Done()
					if _, err := conn.Call(contextOf(t), 0, []byte("of before")); err != nil {
						t.Error(err)
					}
				}()
			}
			until(t, conn.session, "the requests", func() bool {
				return conn.session.rules.Calls.InFlight() == calls
			})
			ended := shutDown()
			until(t, conn.session, "the go-away", conn.session.rules.IsGoingAway)
			close(release)
			all.Wait()
			if err := soon(t, "Shutdown", ended); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRequestThatItsServerHasNotReadIsServedBeforeTheEnd(t *testing.T) {
	server, address := quietServer(t, "shm:"+t.TempDir()+"/s",
		func(_ context.Context, call *Call) error { return call.Echo() })
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := sessionOf(t, server)
	until(t, s, "the server's sleep", func() bool { return s.inPoller })
	s.mu.Lock() // It reads nothing.
	ended, answered := make(chan struct{}), make(chan error, 1)
	go func() {
		s.closeOnceIdle()
		close(ended)
	}()
	go func() {
		_, err := conn.Call(contextOf(t), 0, []byte("of before"))
		answered <- err
	}()
	until(t, conn.session, "the request", func() bool {
		return conn.session.rules.Calls.InFlight() == 1
	})
	s.mu.Unlock()
	if err := soon(t, "the reply", answered); err != nil {
		t.Error(err)
	}
	soon(t, "the end", ended)
}
