package breezeway

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

const (
	// pacedFrom is the size below which messages never wait: a ring full of them fits into a cache.
	pacedFrom = 16 << 10
	// paceTime is how long a message waits for a receiver that releases nothing.
	paceTime = time.Millisecond
	// usualPace bounds where the size of the last cache is not known.
	usualPace = 8 << 20
)

// pace is how far one-way messages run ahead of the receiver (option UnderWay): who takes ever new
// memory writes what no cache holds, and the receiver reads it from there. A receiver that keeps
// what it was sent is not waited for twice.
type pace struct{ usual, now uint64 }

func newPace(set uint64) pace {
	if set == 0 {
		set = lastCache() / 4
	}
	return pace{set, set}
}

// isExceeded says whether a message goes too far ahead with so much under way. One is always let
// go.
func (p *pace) isExceeded(underWay, length int) bool {
	return underWay > 0 && uint64(underWay)+uint64(length) > p.now
}

// holdBack waits for a moment while so much is under way that no cache holds it.
func (s *session) holdBack(length int, lim limit) error {
	end, p := s.memory.end, &s.pace
	underWay := end.UnderWay()
	least := underWay
	var patience time.Time
	for s.err == nil && p.isExceeded(underWay, length) {
		end.Collect()
		if underWay = end.UnderWay(); !p.isExceeded(underWay, length) {
			break
		}
		if underWay < least || patience.IsZero() { // What others take meanwhile is no reason.
			least = underWay
			patience = time.Now().Add(paceTime)
		}
		waited := lim
		if lim.deadline.IsZero() || patience.Before(lim.deadline) {
			waited.deadline = patience
		}
		err := s.waitForRoom(shm.ErrNoMemory, waited)
		switch {
		case err == nil && time.Now().Before(patience):
		case err == nil || errors.Is(err, errDeadline) && lim.err() == nil:
			p.now *= 2
		default:
			return err
		}
	}
	if underWay == 0 {
		p.now = p.usual
	}
	return nil
}

// lastCache is the size in bytes of a CPU's last cache.
var lastCache = sync.OnceValue(func() uint64 {
	largest := uint64(0)
	for index := 0; ; index++ {
		text, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cache/index" + strconv.Itoa(index) +
			"/size")
		if err != nil {
			break
		}
		number := strings.TrimSuffix(strings.TrimSpace(string(text)), "K")
		kib, err := strconv.ParseUint(number, 10, 32)
		if err == nil {
			largest = max(largest, kib<<10)
		}
	}
	if largest == 0 {
		return 4 * usualPace
	}
	return largest
})
