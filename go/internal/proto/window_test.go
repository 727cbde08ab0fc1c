package proto

import (
	"math"
	"testing"
)

func TestCreditIsOverdrawnOnceByALargeMessage(t *testing.T) {
	c := newCredit(4, 100)
	c.spend(99)
	if !c.allows() {
		t.Error("one byte is left, and none may start")
	}
	c.spend(1000)
	for _, bytes := range []uint64{99, 1000} {
		if c.allows() {
			t.Errorf("a message may start with %+v", c)
		}
		if err := c.add(1, bytes); err != nil {
			t.Fatal(err)
		}
	}
	if c != newCredit(4, 100) {
		t.Errorf("given back, the credit is %+v", c)
	}
}

func TestCreditTakesBackNoMoreThanWasSpent(t *testing.T) {
	c := newCredit(4, 100)
	c.spend(10)
	before := c
	for _, back := range []struct {
		messages uint32
		bytes    uint64
	}{{2, 0}, {1, 11}, {math.MaxUint32, 0}, {0, math.MaxUint64}, {0, math.MaxInt64}} {
		if err := c.add(back.messages, back.bytes); err == nil || c != before {
			t.Errorf("%+v was taken back: %+v", back, c)
		}
	}
}

func TestGrantedEndsWithItsMessagesWithoutBytes(t *testing.T) {
	g := granted{credit: newCredit(4, 100)}
	for range 4 {
		if err := g.take(0); err != nil {
			t.Fatal(err)
		}
	}
	if g.take(0) == nil {
		t.Error("a fifth message was taken")
	}
}

func TestGrantedIsDueByHalvesOfMessagesOrBytes(t *testing.T) {
	g := granted{credit: newCredit(4, 100)}
	for _, step := range []struct {
		length int
		due    bool
	}{{1, false}, {1, true}, {30, false}, {60, true}} {
		if err := g.take(step.length); err != nil {
			t.Fatal(err)
		}
		if g.consume(step.length); g.isDue() != step.due {
			t.Errorf("with %d bytes more, due is %v", step.length, !step.due)
		}
		if step.due && step.length == 1 {
			g.giveBack()
		}
	}
}
