package breezeway

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestAReservationThatIsForgottenIsAbandoned(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), nil)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	s := conn.session
	reserved := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.memory.end.UnderWay()
	}
	before := reserved()
	if _, err := conn.Reserve(contextOf(t), 100_000); err != nil {
		t.Fatal(err)
	}
	if reserved() == before {
		t.Fatal("a reservation takes nothing")
	}
	for end := time.Now().Add(20 * time.Second); reserved() != before; runtime.Gosched() {
		if runtime.GC(); time.Now().After(end) {
			t.Fatal("its memory stays taken")
		}
	}
	_ = conn.Close()
}

func TestFreedReservationWakesWaiterForMemory(t *testing.T) {
	server := &Server{handler: echoCall, streams: func(_ context.Context, stream *Stream) {
		for {
			if _, err := stream.Recv(context.Background()); err != nil {
				return
			}
		}
	}}
	serveQuietly(t, server, "shm:"+filepath.Join(t.TempDir(), "s"))
	conn := dialled(t, server.Addresses()[0].String(), WithCap(1<<20))
	stream, err := conn.Open(contextOf(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, free := range map[string]func(r *Reservation) error{
		"abandoned": func(r *Reservation) error { r.Abandon(); return nil },
		"cut": func(r *Reservation) error {
			r.Truncate(10)
			return stream.SendReserved(contextOf(t), r)
		},
	} {
		all, err := conn.Reserve(contextOf(t), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Call(contextOf(t), 0, nil); err != nil {
			t.Fatal(err) // The server has consumed what was sent before.
		}
		ended := make(chan error)
		go func() {
			r, err := conn.Reserve(contextOf(t), 4096)
			if err == nil {
				r.Abandon()
			}
			ended <- err
		}()
		s := conn.session
		until(t, s, "the wait", func() bool { return len(s.roomWaiters) == 1 && s.inPoller })
		if err := free(all); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: the memory is free, and its waiter sleeps", name)
		}
	}
}

func TestNothingIsWrittenBehindTheEndOfAReservation(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), echoCall)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, size := range []int{10, 4096} {
		space, err := conn.Reserve(contextOf(t), size)
		if err != nil {
			t.Fatal(err)
		}
		space.Truncate(5)
		for _, at := range []int64{5, 9, 5000, 1 << 40} {
			if n, err := space.WriteAt([]byte{1}, at); n != 0 || !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("of %d bytes, at %d: %d, %v", size, at, n, err)
			}
		}
		space.Abandon()
	}
}
