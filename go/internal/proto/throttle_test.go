package proto

import (
	"testing"
	"time"
)

func TestThrottleSendsOneMessageOfAnySize(t *testing.T) {
	throttle := NewThrottle(1000)
	for _, c := range []struct {
		underWay, length int
		exceeded         bool
	}{{0, 5000, false}, {5000, 1, true}, {500, 500, false}, {500, 501, true}} {
		if throttle.IsExceeded(c.underWay, c.length) != c.exceeded {
			t.Errorf("of %+v it says otherwise", c)
		}
	}
}

func TestThrottleWaitsAnewOnceLessIsUnderWay(t *testing.T) {
	throttle, hold, now := NewThrottle(1000), Hold{}, time.Unix(1, 0)
	for _, c := range []struct {
		underWay int
		anew     bool
	}{{3000, true}, {3000, false}, {2000, true}, {2500, false}, {2000, false}} {
		now = now.Add(time.Microsecond)
		if until := throttle.Wait(&hold, c.underWay, now); until.Equal(now.Add(
			throttlePatience)) != c.anew {
			t.Errorf("with %d bytes it waits until %v", c.underWay, until)
		}
	}
}

func TestThrottleSoonWaitsNoMoreForAReceiverThatKeepsAll(t *testing.T) {
	throttle, hold, now, waits := NewThrottle(1), Hold{}, time.Unix(1, 0), 0
	for ; throttle.IsExceeded(64<<20, 1<<20); waits++ {
		now = throttle.Wait(&hold, 64<<20, now)
		throttle.Waited(&hold, now.Add(-1))
		throttle.Waited(&hold, now)
	}
	if waits != 27 {
		t.Errorf("it waits %d times", waits)
	}
	if throttle.Sent(1); throttle.IsExceeded(1, 1) {
		t.Error("it forgets the receiver with a byte under way")
	}
	if throttle.Sent(0); !throttle.IsExceeded(1, 1) {
		t.Error("the usual bound does not hold again")
	}
}

func TestOneWayMessagesAreThrottledWhileNoReplyIsToCome(t *testing.T) {
	s := sessionOf(true)
	if s.IsThrottled(throttledFrom-1) || !s.IsThrottled(throttledFrom) {
		t.Error("small messages are throttled, or large ones are not")
	}
	s.Calls.Begin(s.TakeNumber(), 7)
	if s.IsThrottled(throttledFrom) {
		t.Error("a message is throttled while a reply is to come")
	}
}
