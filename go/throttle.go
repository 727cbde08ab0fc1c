package breezeway

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// usualPace is the bound if the size of the last-level cache is unknown.
const usualPace = 8 << 20

func newThrottle(set uint64) proto.Throttle {
	if set == 0 {
		set = lastCache() / 4
	}
	return proto.NewThrottle(set)
}

// holdBack waits for a moment while more bytes are in flight than a cache holds.
func (s *session) holdBack(length int, lim limit) error {
	end, t := s.memory.end, &s.throttle
	underWay := end.UnderWay()
	var hold proto.Hold
	for s.err == nil && t.IsExceeded(underWay, length) {
		end.Collect()
		if underWay = end.UnderWay(); !t.IsExceeded(underWay, length) {
			break
		}
		waited, until := lim, t.Wait(&hold, underWay, time.Now())
		if lim.deadline.IsZero() || until.Before(lim.deadline) {
			waited.deadline = until
		}
		err := s.waitForRoom(shm.ErrNoMemory, waited)
		if err != nil && (!errors.Is(err, errDeadline) || lim.err() != nil) {
			return err
		}
		t.Waited(&hold, time.Now())
	}
	t.Sent(underWay)
	return nil
}

// lastCache returns the size in bytes of a CPU's last-level cache.
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
