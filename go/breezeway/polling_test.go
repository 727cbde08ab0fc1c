package breezeway

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

func TestWithOneProcessorNothingHangsAndOnlyBusyPolls(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for policy, polls := range map[WaitPolicy]bool{Adaptive: false, Busy: true, Park: false} {
		_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), echoCall,
			WithWaitPolicy(policy))
		conn, err := Dial(contextOf(t), address, WithWaitPolicy(policy))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		callAtOnce(t, conn, 20, 50)
		s := conn.session
		s.mu.Lock()
		if time := s.pollingTime(); time > 0 != polls {
			t.Errorf("policy %v polls for %v", policy, time)
		}
		s.mu.Unlock()
	}
}

func TestPollingStopsOnceProcessorsAreTakenAway(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), echoCall)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	runtime.GOMAXPROCS(1)
	s := conn.session
	s.mu.Lock()
	defer s.mu.Unlock()
	// A wait that finds nothing polls for the last time.
	_ = s.wait(newWaiter(), &limit{deadline: time.Now().Add(10 * time.Millisecond)},
		func() bool { return false })
	if left := s.pollingTime(); left != 0 {
		t.Fatalf("it polls for %v", left)
	}
}

// callAtOnce makes calls from several goroutines.
func callAtOnce(t *testing.T, conn *Session, goroutines, calls int) {
	t.Helper()
	var all sync.WaitGroup
	for range goroutines {
		all.Add(1)
		go func() {
			defer all.Done()
			for range calls {
				reply, err := conn.Call(contextOf(t), 0, []byte("as it was"))
				if err != nil || string(reply.Bytes()) != "as it was" {
					t.Errorf("%q, %v", reply.Bytes(), err)
					return
				}
			}
		}()
	}
	all.Wait()
}

func TestPollingIsGivenUpWhereItIsInVainAndTakenUpWhereItPays(t *testing.T) {
	s := &session{opts: &options{spinBound: 100 * time.Microsecond}, budget: 100 * time.Microsecond}
	now := time.Now()
	waits := func(count int, found bool, waited time.Duration) time.Duration {
		for range count {
			s.learn(found, waited, now)
		}
		return s.budget
	}
	if left := waits(7, false, 120*time.Microsecond); left >= leastBudget {
		t.Fatalf("after seven times for nothing it polls for %v", left)
	}
	if left := waits(1, false, 20*time.Microsecond); left >= leastBudget {
		t.Fatalf("after the first short wait it polls for %v", left)
	}
	if left := waits(1, false, 20*time.Microsecond); left != s.opts.spinBound {
		t.Fatalf("after the second one it polls for %v", left)
	}
	if left := waits(100, false, 20*time.Microsecond); left >= leastBudget {
		// An entry that arrives soon after polling without success may have waited for this CPU.
		t.Fatalf("after polling for nothing again and again it polls for %v", left)
	}
	if left := waits(mostBackOff+1, false, 20*time.Microsecond); left < leastBudget {
		t.Fatal("it never tries again")
	}
	if left := waits(1, true, 99*time.Microsecond); left != s.opts.spinBound {
		t.Fatalf("after a success it polls for %v", left)
	}
	s.crowdedUntil = now.Add(time.Second)
	if left := waits(1, true, 99*time.Microsecond); left >= s.opts.spinBound {
		t.Fatalf("after a long wait, where others want the CPU, it polls for %v", left)
	}
}

func TestCallsThatEndTogetherLetAsManyBegin(t *testing.T) {
	var s session
	waiters := []*waiter{newWaiter(), newWaiter(), newWaiter()}
	s.callWaiters = append(s.callWaiters, waiters...)
	for range 2 {
		s.callEnded()
	}
	for i, w := range waiters {
		if w.woken != (i < 2) {
			t.Errorf("waiter %d was woken: %v", i, w.woken)
		}
	}
}

func TestMoreCallersThanMayBeInFlightAreAllServed(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), echoCall)
	conn, err := Dial(contextOf(t), address, WithRingCapacity(8))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	callAtOnce(t, conn, 50, 100)
}

func TestACallThatFollowsEndsWithItsContext(t *testing.T) {
	served, may := make(chan struct{}, 1), make(chan struct{})
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), func(_ context.Context,
		call *Call) error {
		if call.Method() == 1 {
			served <- struct{}{}
			<-may
		}
		return call.Echo()
	})
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	leader := make(chan error, 1)
	go func() {
		_, err := conn.Call(contextOf(t), 1, nil)
		leader <- err
	}()
	soon(t, "the leader's call", served)
	ctx, cancel := context.WithCancel(context.Background())
	follower := make(chan error, 1)
	go func() {
		_, err := conn.Call(ctx, 0, nil)
		follower <- err
	}()
	until(t, conn.session, "the follower's sleep",
		func() bool { return conn.session.followers.first() != nil })
	cancel()
	if err := soon(t, "the follower's end", follower); err != context.Canceled {
		t.Fatal(err)
	}
	close(may)
	if err := soon(t, "the leader's reply", leader); err != nil {
		t.Fatal(err)
	}
	callAtOnce(t, conn, 2, 10) // The late reply is not given to another call.
}

func TestCallerThatLeavesPassesItsWakeUpOn(t *testing.T) {
	options := defaults()
	hello := options.hello(true)
	s := &session{ledger: new(ledger),
		rules: proto.NewSession[*waiter, *Stream](true, hello, hello, false)}
	next := newWaiter()
	s.callWaiters = append(s.callWaiters, next)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	lim := limitOf(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.waitToBegin(new(outgoing), &lim); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !next.woken {
		t.Error("the next caller sleeps on")
	}
}
