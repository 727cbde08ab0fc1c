package breezeway

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
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

func TestLateClientLosesItsSessionThoughACallIsServed(t *testing.T) {
	const size, calls = 1 << 20, 3
	ended, cancelled := make(chan error, 1), make(chan error, 1)
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	server, _ := quietServer(t, address, func(ctx context.Context, call *Call) error {
		if call.head.Stream == 1 {
			<-ctx.Done()
			cancelled <- ctx.Err()
		}
		return call.Reply(make([]byte, size))
	}, WithOffload(calls), WithReplyTimeout(time.Minute),
		WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
	client := dialByHand(t, address, smallHello())
	sessionOf(t, server).setLinger(20 * time.Millisecond)
	asks(client, calls, shutsDown)
	soon(t, "the end of the held call", cancelled)
	if err := soon(t, "the session's end", ended); err != nil {
		t.Error(err)
	}
}

// takesSlowly reads in portions, with pauses, until the end of the connection. It returns the bytes
// read.
func (c *byHand) takesSlowly(bytes int, pause time.Duration) (taken int) {
	for {
		n, err := io.ReadFull(c.conn, make([]byte, bytes))
		if taken += n; err != nil {
			return taken
		}
		time.Sleep(pause)
	}
}

func TestSessionNotesBytesThatLeaveTheSocketUnwritable(t *testing.T) {
	const size = 1 << 20
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	server, _ := quietServer(t, address, func(_ context.Context, call *Call) error {
		return call.Reply(make([]byte, size))
	})
	client := dialByHand(t, address, smallHello())
	s := sessionOf(t, server)
	s.setLinger(time.Hour)
	asks(client, 1, shutsDown)
	until(t, s, "the wait for the client", func() bool { return s.lateness != nil })
	// A socket counts as writable with a quarter of its buffer in use.
	for range 4 {
		if _, err := io.ReadFull(client.conn, make([]byte, 80<<10)); err != nil {
			t.Fatal(err)
		}
		if s.lingersOut(); s.isOver() {
			t.Fatal("the session has ended while its client took bytes")
		}
	}
	if s.lingersOut(); !s.isOver() {
		t.Error("the session goes on although its client takes nothing")
	}
}

func TestSlowClientHasRepliesThatWaitForItsSocket(t *testing.T) {
	const size, calls = 600 << 10, 3
	address, may := "unix:"+filepath.Join(t.TempDir(), "s"), make(chan struct{})
	server, _ := quietServer(t, address, func(_ context.Context, call *Call) error {
		<-may
		return call.Reply(make([]byte, size))
	}, WithOffload(calls), WithReplyTimeout(time.Hour))
	client := dialByHand(t, address, smallHello())
	s := sessionOf(t, server)
	s.setLinger(time.Hour)
	asks(client, calls, shutsDown)
	until(t, s, "the shutdown", func() bool {
		return s.ending() != nil && s.rules.Served.Running() == calls
	})
	close(may)
	until(t, s, "the wait for room", func() bool { return len(s.roomWaiters) == calls-1 })
	taken := 0
	for {
		n, err := io.ReadFull(client.conn, make([]byte, 80<<10))
		if taken += n; err != nil {
			break
		}
		s.lingersOut()
	}
	if want := calls * (proto.FrameLen + size); taken != want {
		t.Errorf("%d of %d bytes came", taken, want)
	}
}

func TestClosingSessionSendsWhatTheUnwritableSocketTakes(t *testing.T) {
	const size = 1 << 18
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	server, _ := quietServer(t, address, func(_ context.Context, call *Call) error {
		return call.Reply(make([]byte, size))
	})
	client := dialByHand(t, address, smallHello())
	s := sessionOf(t, server)
	s.setLinger(20 * time.Millisecond)
	asks(client, 1)
	until(t, s, "the backlog", s.hasBacklog)
	s.mu.Lock()
	left := s.unwritten()
	s.mu.Unlock()
	taken, err := io.ReadFull(client.conn, make([]byte, left+32<<10))
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	rest, err := io.Copy(io.Discard, client.conn)
	if all := taken + int(rest); err != nil || all != 2*proto.FrameLen+size {
		t.Errorf("%d bytes came: %v", all, err)
	}
}

func TestReplyBehindAShutdownWaitsForASocketPastReplyTimeout(t *testing.T) {
	const size, calls = 1 << 20, 3
	address, may := "unix:"+filepath.Join(t.TempDir(), "s"), make(chan struct{})
	server, _ := quietServer(t, address, func(_ context.Context, call *Call) error {
		<-may
		return call.Reply(make([]byte, size))
	}, WithReplyTimeout(time.Nanosecond))
	client := dialByHand(t, address, smallHello())
	s := sessionOf(t, server)
	asks(client, calls, shutsDown)
	until(t, s, "the shutdown", func() bool {
		return s.ending() != nil && s.rules.Served.Running() == 1
	})
	close(may)
	until(t, s, "the wait for room", func() bool { return len(s.roomWaiters) == 1 })
	for _, head := range client.hears() {
		if head.Flags != proto.FlagFin {
			t.Errorf("a reply has flags %#02x", head.Flags)
		}
	}
}

func TestClientBehindItsShutdownHoldsNoHandlersOfOthers(t *testing.T) {
	const size, calls = 1 << 20, 3
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	server, _ := quietServer(t, address, func(_ context.Context, call *Call) error {
		return call.Reply(make([]byte, size*call.Request().Len()))
	}, WithOffload(1), WithReplyTimeout(20*time.Millisecond))
	client := dialByHand(t, address, smallHello())
	s := sessionOf(t, server)
	s.setLinger(time.Hour)
	asks(client, calls, shutsDown)
	until(t, s, "the wait for room behind the shutdown", func() bool {
		return s.lateness != nil
	})
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Call(contextOf(t), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	reply.Release()
}

func TestReplyBehindAShutdownFailsForMemoryAtReplyTimeout(t *testing.T) {
	const calls = 3 // Two fit.
	path, may := filepath.Join(t.TempDir(), "s"), make(chan struct{})
	server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
		<-may
		return call.Reply(make([]byte, twoFit))
	}, WithOffload(calls), WithReplyTimeout(time.Nanosecond))
	client := newCaller(t, path)
	s := sessionOf(t, server)
	asks(client, calls, shutsDown)
	until(t, s, "the shutdown", func() bool {
		return s.ending() != nil && s.rules.Served.Running() == calls
	})
	close(may)
	failed := 0
	for _, head := range client.hears() {
		if head.Flags.Has(proto.FlagError) {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d calls have failed", failed)
	}
}

// The time of the reply passes before its session is late, but the waiter has yet to run.
func TestReplyOutOfTimeFailsBeforeItsLateSession(t *testing.T) {
	const calls = 3 // Two fit.
	path, may := filepath.Join(t.TempDir(), "s"), make(chan struct{})
	server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
		<-may
		return call.Reply(make([]byte, twoFit))
	}, WithOffload(calls), WithReplyTimeout(50*time.Millisecond))
	client := newCaller(t, path)
	s := sessionOf(t, server)
	s.setLinger(time.Hour)
	asks(client, calls, shutsDown)
	until(t, s, "the shutdown", func() bool {
		return s.ending() != nil && s.rules.Served.Running() == calls
	})
	close(may)
	until(t, s, "the late wait for memory", func() bool {
		if s.memoryWaits == 0 {
			return false
		}
		for waits := s.roomWaiters[0]; time.Now().Before(waits.until); {
			runtime.Gosched()
		}
		s.lateness.Stop()
		s.endIfLate()
		return true
	})
	failed := 0
	for _, head := range client.hears() {
		if head.Flags.Has(proto.FlagError) {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d calls have failed", failed)
	}
}

func TestRepliesWaitForAClientThatHasClosedItsSocket(t *testing.T) {
	const calls = 6 // Two fit.
	for name, offload := range map[string]int{"inline": 0, "offloaded": calls} {
		t.Run(name, func(t *testing.T) {
			path, ended := filepath.Join(t.TempDir(), "s"), make(chan error, 1)
			server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
				return call.Reply(make([]byte, twoFit))
			}, WithOffload(offload), WithReplyTimeout(time.Minute),
				WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
			client := newCaller(t, path)
			s := sessionOf(t, server)
			s.setLinger(time.Hour)
			asks(client, calls, shutsDown)
			until(t, s, "the wait for memory", func() bool {
				return s.ending() != nil && s.memoryWaits > 0
			})
			client.leaves()
			until(t, s, "the end of the connection", s.rules.Ending.IsGone)
			for range calls {
				client.nextReply()
				client.release()
			}
			if err := soon(t, "the session's end", ended); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRoomThatItsWaiterAloneHasSeenCountsAsTaken(t *testing.T) {
	const calls = 3 // Two fit.
	path := filepath.Join(t.TempDir(), "s")
	server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
		return call.Reply(make([]byte, twoFit))
	}, WithOffload(calls), WithReplyTimeout(time.Minute))
	client := newCaller(t, path)
	s := sessionOf(t, server)
	s.setLinger(time.Hour)
	asks(client, calls, shutsDown)
	until(t, s, "the wait for memory", func() bool {
		return s.ending() != nil && s.memoryWaits > 0
	})
	client.leaves()
	until(t, s, "the end of the connection", s.rules.Ending.IsGone) // No driver is left.
	client.nextReply()
	client.release()
	client.nextReply()
	client.nextReply()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules.Ending.RepliesElapsed() {
		t.Error("the client counts as one that takes nothing")
	}
}

func TestRoomMadeBetweenTwoWaitsCountsAsTaken(t *testing.T) {
	const calls, fit = 6, 2
	path, ended := filepath.Join(t.TempDir(), "s"), make(chan error, 1)
	may := make(chan struct{})
	server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
		<-may
		return call.Reply(make([]byte, twoFit))
	}, WithOffload(calls), WithReplyTimeout(20*time.Millisecond),
		WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
	client := newCaller(t, path)
	s := sessionOf(t, server)
	s.setLinger(time.Hour)
	asks(client, calls, shutsDown)
	until(t, s, "the shutdown", func() bool {
		return s.ending() != nil && s.rules.Served.Running() == calls
	})
	var lent [fit]uint16
	for i := range lent {
		may <- struct{}{}
		client.nextReply()
		lent[i] = client.lent
	}
	may <- struct{}{}
	until(t, s, "a reply that fails for memory", func() bool {
		return s.rules.Served.Running() == calls-fit-1
	})
	s.mu.Lock()
	s.rules.Ending.RoomMade()
	s.rules.Ending.RepliesElapsed() // As at the end of a linger.
	s.mu.Unlock()
	for _, client.lent = range lent {
		client.release()
	}
	close(may)
	soon(t, "the session's end", ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules.Ending.RepliesElapsed() {
		t.Error("the client counts as one that takes nothing")
	}
}

func TestClosingSessionWaitsPastTheEndOfALinger(t *testing.T) {
	client, s := leavesWithABacklog(t, &Server{}, smallHello())
	closed := make(chan struct{})
	go func() {
		s.close()
		close(closed)
	}()
	until(t, s, "this side's shutdown", s.rules.Ending.IsOwn)
	for range 3 {
		if s.lingersOut(); s.isOver() {
			t.Fatal("the session has ended before its time to close")
		}
	}
	client.leaves()
	soon(t, "the session's end", closed)
}

func TestOneOfTheRepliesWithoutADriverPollsForRoom(t *testing.T) {
	const calls = 4 // Two fit.
	path, ended := filepath.Join(t.TempDir(), "s"), make(chan error, 1)
	server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
		return call.Reply(make([]byte, twoFit))
	}, WithOffload(calls), WithReplyTimeout(time.Hour),
		WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
	client := newCaller(t, path)
	s := sessionOf(t, server)
	s.setLinger(time.Hour)
	asks(client, calls, shutsDown)
	until(t, s, "the shutdown", func() bool { return s.ending() != nil })
	client.leaves()
	until(t, s, "the end of the connection", s.rules.Ending.IsGone)
	var next *waiter
	until(t, s, "the waits for memory", func() bool {
		if len(s.roomWaiters) < calls-2 || !s.roomWaiters[1].asleep {
			return false
		}
		polling := 0
		for _, w := range s.roomWaiters {
			if lim := (limit{isReply: true}); s.untilLook(w, &lim) != &lim {
				polling++
			}
		}
		if polling != 1 {
			t.Errorf("%d replies poll", polling)
		}
		next = s.roomWaiters[1]
		s.roomWaiters[0].wake() // Its reply waits again, behind the other one.
		return true
	})
	until(t, s, "the other order", func() bool {
		return len(s.roomWaiters) == calls-2 && s.roomWaiters[0] == next
	})
	for range calls {
		client.nextReply()
		client.release()
	}
	if err := soon(t, "the session's end", ended); err != nil {
		t.Error(err)
	}
}

func TestClientThatConsumesEntriesSlowlyKeepsItsSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	may := make(chan struct{})
	server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
		<-may
		return call.Echo()
	})
	client := newCaller(t, path)
	s := sessionOf(t, server)
	s.setLinger(time.Hour)
	client.says(lastEntry{proto.RequestFlags, 1, "x"}, shutsDown)
	s.mu.Lock()
	for s.memory.end.Publish(&crossedReset, nil) == nil {
	}
	s.flush()
	s.mu.Unlock()
	close(may)
	until(t, s, "the wait for a slot behind the shutdown", func() bool {
		return s.ending() != nil && len(s.roomWaiters) > 0
	})
	waits := func() bool {
		s.lingersOut()
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.rules.Ending.RepliesWait()
	}
	for range 4 { // Of 64 entries, 16 end the wait.
		if _, came := client.next(); !came || !waits() {
			t.Fatal("the reply waits no longer while its client consumes entries")
		}
	}
	waits() // The last entry may count in this linger.
	if waits() {
		t.Error("the reply waits although its client takes nothing")
	}
}
