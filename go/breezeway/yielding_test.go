package breezeway

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

func TestYieldingIsGivenUpWhereItMissesAndTakenUpWhereItPays(t *testing.T) {
	var y yielding
	rounds := func(count, missed int) (yielded int) {
		for range count {
			for call := range yieldRound {
				if does, _ := y.pays(); does {
					if yielded++; call < missed {
						y.missed++
					}
				}
			}
		}
		return yielded
	}
	if yielded := rounds(10, yieldRound/4); yielded != 10*yieldRound {
		t.Fatalf("where it pays, %d calls yielded", yielded)
	}
	rounds(1, yieldRound)
	if yielded := rounds(1, 0); yielded != 0 {
		t.Fatalf("after a round of misses, %d calls yielded", yielded)
	}
	if yielded := rounds(1, 0); yielded != yieldRound {
		t.Fatalf("it is not tried again: %d calls yielded", yielded)
	}
	rounds(50, yieldRound)
	if yielded := rounds(2*mostBackOff, yieldRound); yielded > 3*yieldRound {
		t.Fatalf("after many rounds of misses, %d calls yielded", yielded)
	}
	y = yielding{}
	if _, timed := y.pays(); !timed {
		t.Fatal("the first one is not timed")
	}
	y.stop()
	if does, _ := y.pays(); does {
		t.Fatal("it goes on where others take long")
	}
}

// TestCallThatFindsRoomAtSessionEndFails makes room for a call by a reply that is
// followed by a violation.
func TestCallThatFindsRoomAtSessionEndFails(t *testing.T) {
	_, conn, serving := greeted(t, WithRingCapacity(64))
	for range conn.MaxInFlight() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		_, err := conn.Call(ctx, 0, nil)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	if inFlight := conn.session.rules.Calls.InFlight(); inFlight != conn.MaxInFlight() {
		t.Fatalf("%d calls are in flight, not %d", inFlight, conn.MaxInFlight())
	}
	serving.mu.Lock()
	for _, head := range []proto.Head{{Kind: proto.KindMessage, Flags: proto.FlagFin, Stream: 1},
		{Kind: proto.KindGoAway}, {Kind: proto.KindGoAway}} {
		if err := serving.transmit(head, &outgoing{}); err != nil {
			t.Error(err)
		}
	}
	serving.flush()
	serving.mu.Unlock()
	var broken *ViolationError
	if _, err := conn.Call(contextOf(t), 0, nil); !errors.As(err, &broken) {
		t.Fatal(err)
	}
}

// manyWait makes many callers wait for a server that does not reply before release.
func manyWait(t *testing.T) (conn *Session, release func(), ended chan error,
	cancel context.CancelFunc) {
	t.Helper()
	may := make(chan struct{})
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error {
			<-may
			return call.Echo()
		})
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	release = sync.OnceFunc(func() { close(may) })
	t.Cleanup(release)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ended = make(chan error, waitAtOnce)
	for range waitAtOnce {
		go func() {
			_, err := conn.Call(ctx, 0, []byte("as it was"))
			ended <- err
		}()
	}
	until(t, conn.session, "all calls are in flight",
		func() bool { return conn.session.rules.Calls.InFlight() == waitAtOnce })
	return conn, release, ended, cancel
}

const waitAtOnce = 5 * yieldFrom

func TestManyCallersEndWithContextAndSessionContinues(t *testing.T) {
	conn, release, ended, cancel := manyWait(t)
	cancel()
	for range waitAtOnce {
		if err := soon(t, "the end of a call", ended); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	release()
	callAtOnce(t, conn, waitAtOnce, 100)
}

func TestManyCallersGetEndOfSession(t *testing.T) {
	conn, _, ended, _ := manyWait(t)
	conn.Close()
	for range waitAtOnce {
		if err := soon(t, "the end of a call", ended); !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	}
}

func TestManyCallersOfSleepingServerAreServed(t *testing.T) {
	for _, processors := range []int{1, 2, 4} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), echoCall,
				WithWaitPolicy(Park))
			conn, err := Dial(contextOf(t), address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			callAtOnce(t, conn, waitAtOnce, 500)
		}()
	}
}

// TestUnfencedEntryWakesItsSleeper publishes without a flush.
func TestUnfencedEntryWakesItsSleeper(t *testing.T) {
	taken := make(chan struct{}, 1)
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), func(context.Context,
		*Call) error {
		taken <- struct{}{}
		return nil
	}, WithWaitPolicy(Park))
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := conn.session
	serving := sessionOf(t, server)
	until(t, serving, "the server's sleep", func() bool {
		return serving.link.counters().Sleeps > 0
	})
	s.mu.Lock()
	head := proto.Head{Kind: proto.KindMessage, Stream: s.rules.TakeNumber(),
		Flags: proto.OneWayFlags}
	sent := s.transmitUnfenced(head, &outgoing{bytes: []byte("wake up")})
	s.mu.Unlock()
	if !sent {
		t.Fatal("it was not sent")
	}
	soon(t, "the message", taken)
}

// TestCallersThatYieldAndThoseThatSleepAreServedTogether runs more and fewer callers than those
// from which yielding begins.
func TestCallersThatYieldAndThoseThatSleepAreServedTogether(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), echoCall)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var rounds sync.WaitGroup
	for callers := range 2 * yieldFrom {
		rounds.Add(1)
		go func() {
			defer rounds.Done()
			callAtOnce(t, conn, callers+1, 30)
		}()
	}
	rounds.Wait()
}

// The peer announces its sleep after the request.
func TestCallerWithoutReplyChecksWhetherPeerSleeps(t *testing.T) {
	for _, givesUp := range []bool{false, true} {
		come, end := make(chan *liar, 1), make(chan struct{})
		conn, err := Dial(contextOf(t), lyingServer(t, func(l *liar) {
			come <- l
			<-end
			l.close()
		}))
		if err != nil {
			t.Fatal(err)
		}
		l, s := <-come, conn.session
		s.mu.Lock()
		w, number := s.newWaiter(), s.rules.TakeNumber()
		w.yields = mostYields
		p := s.rules.Calls.Begin(number, w)
		p.Sent()
		sent := s.transmitUnfenced(proto.Head{Kind: proto.KindMessage, Stream: number,
			Flags: proto.RequestFlags}, &outgoing{bytes: []byte("wake up")})
		l.own.Store(proto.DataWakeAt, 0) // The position of the request.
		if givesUp {
			s.giveUp(p)
		} else {
			s.yield(w)
		}
		s.mu.Unlock()
		_ = l.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.CopyN(io.Discard, l.conn, 1); err != nil || !sent {
			t.Errorf("given up: %v: no doorbell: %v", givesUp, err)
		}
		close(end)
	}
}
