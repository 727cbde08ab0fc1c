package breezeway

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestAServerThatClosesRepliesToTheCallThatItServes(t *testing.T) {
	for _, carrier := range []string{"shm", "unix"} {
		for name, offload := range map[string]int{"": 0, " offloaded": 4} {
			t.Run(carrier+name, func(t *testing.T) { repliesAsItCloses(t, carrier, offload) })
		}
	}
}

func repliesAsItCloses(t *testing.T, carrier string, offload int) {
	began, release := make(chan struct{}), make(chan struct{})
	server, address := quietServer(t, carrier+":"+filepath.Join(t.TempDir(), "s"),
		func(call *Call) error {
			close(began)
			<-release
			return call.Echo()
		}, Offload(offload), ReplyTimeout(time.Minute))
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() { answered <- call(context.Background(), conn) }()
	soon(t, "the call", began)
	session := server.all()[0]
	closed := make(chan error, 1)
	go func() { closed <- server.Close() }()
	until(t, session, "the session waits for its call", func() bool { return session.closing })
	close(release)
	if err := soon(t, "the reply", answered); err != nil {
		t.Error(err)
	}
	soon(t, "the server's end", closed)
}

func TestAServerThatClosesWaitsNoLongerForACallThanReplyTimeout(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(call *Call) error {
			close(began)
			<-release
			return call.Echo()
		}, ReplyTimeout(time.Millisecond))
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() { answered <- call(context.Background(), conn) }()
	soon(t, "the call", began)
	closed := make(chan error, 1)
	go func() { closed <- server.Close() }()
	soon(t, "the server's end", closed)
	if err := soon(t, "the call's end", answered); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("the call ended with %v", err)
	}
	close(release)
}
