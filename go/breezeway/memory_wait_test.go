package breezeway

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// lookInVain requests more memory than there is, while a release has not been reported yet, and
// waits for it no longer than its context allows. The peer may take an entry in between, which also
// ends the wait.
func (s *session) lookInVain(t *testing.T, n int) {
	_, err := s.link.reserve(n)
	if err == nil {
		t.Fatalf("there were %d bytes", n)
	}
	err = s.waitForRoom(err, limit{deadline: time.Now()})
	if err != nil && !errors.Is(err, errDeadline) {
		t.Fatalf("a wait of no length ended with %v", err)
	}
}

func TestLookingForMemoryInVainDoesNotMakeOthersMissTheirRelease(t *testing.T) {
	for name, policy := range map[string]WaitPolicy{"park": Park, "adaptive": Adaptive} {
		t.Run(name, func(t *testing.T) {
			kept := make(chan Message, 100)
			server := &Server{handler: func(context.Context, *Call) error { return nil },
				streams: func(_ context.Context, t *Stream) {
					for {
						m, err := t.Recv(context.Background())
						if err != nil {
							return
						}
						kept <- m
					}
				}}
			if err := server.listen("shm:"+filepath.Join(t.TempDir(), "s"),
				WithStreamWindow(1000, 1<<30)); err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- server.Serve() }()
			defer func() {
				_ = server.Close()
				soon(t, "the server's end", served)
			}()
			conn, err := Dial(contextOf(t), server.Addresses()[0].String(), WithCap(32<<10),
				WithWaitPolicy(policy))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() { _, _ = conn.AcceptStream(context.Background()) }() // It drives.
			stream, err := conn.Open(contextOf(t), 0)
			if err != nil {
				t.Fatal(err)
			}
			// In the end one of the messages that fit is kept.
			sent := make(chan error)
			message := make([]byte, 2000)
			count, full := 0, waiting(conn.session)
			for more := true; more; {
				go func() { sent <- stream.Send(context.Background(), message) }()
				select {
				case err := <-sent:
					if err != nil {
						t.Fatal(err)
					}
					count++
				case is := <-full:
					if more = false; !is {
						t.Fatal("nobody waits for memory")
					}
				}
			}
			released := soon(t, "the first message", kept)
			conn.session.mu.Lock()
			released.Release()
			conn.session.lookInVain(t, 20_000)
			conn.session.mu.Unlock()
			if err := soon(t, "the send, for which there is memory", sent); err != nil {
				t.Fatal(err)
			}
			for range count {
				m := soon(t, "a message", kept)
				m.Release()
			}
		})
	}
}

// waiting sends true once one goroutine of a session waits for memory and another one drives, or
// false if that does not happen.
func waiting(s *session) <-chan bool {
	does := make(chan bool, 1)
	go func() {
		is := false
		for end := time.Now().Add(20 * time.Second); !is && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
			s.mu.Lock()
			is = s.memoryWaits == 1 && s.isDriven()
			s.mu.Unlock()
		}
		does <- is
	}()
	return does
}

func TestWakeDuringPollPreventsSleep(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), nil)
	conn, err := Dial(contextOf(t), address, withSpinBound(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s, has, told := conn.session, false, make(chan error, 1)
	w := &waiter{ch: make(chan bool, 1)}
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		told <- s.wait(w, &limit{}, func() bool { return has })
	}()
	until(t, s, "driving", func() bool {
		if s.leading {
			has = true
			w.wake()
			s.interrupt()
		}
		return has
	})
	if err := soon(t, "the end of a wait", told); err != nil {
		t.Fatal(err)
	}
}
