package segment

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const page = 8192

func ledger(t *testing.T, total, ofUser uint64) *Ledger {
	t.Helper()
	l, err := NewLedger(total, ofUser)
	if err != nil {
		t.Fatal(err)
	}
	if held := l.Held(); held > 0 {
		t.Fatalf("%d bytes are held at first", held)
	}
	return l
}

func TestSegmentCountsUntilLastDescriptorAndMappingEnd(t *testing.T) {
	l := ledger(t, 1<<40, 0)
	account := Account{Ledger: l, User: User{true, 1}}
	own, fd, err := account.Create(page)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := Map(fd, page)
	if err != nil {
		t.Fatal(err)
	}
	for name, let := range map[string]func(){"the own mapping": own.Drop,
		"the descriptor": func() { unix.Close(fd) }, "the peer's": foreign.Drop} {
		if held := l.Held(); held != page {
			t.Errorf("%d bytes are held before %s is gone", held, name)
		}
		let()
	}
	if held := l.Held(); held != 0 {
		t.Errorf("%d bytes are held at last", held)
	}
}

func TestNoUserHasMoreThanAUserMayHaveNorAllMoreThanThereIs(t *testing.T) {
	l := ledger(t, 3*page, 2*page)
	one, other := Account{l, User{true, 1}}, Account{l, User{}}
	var kept []func()
	make := func(account Account) error {
		mapping, fd, err := account.Create(page)
		if err == nil {
			kept = append(kept, func() { mapping.Drop(); unix.Close(fd) })
		}
		return err
	}
	refused := func(account Account, by string) {
		t.Helper()
		if err := make(account); !errors.As(err, new(*ShortageError)) ||
			!strings.Contains(err.Error(), by) {
			t.Errorf("one more is made, or refused by %v", err)
		}
	}
	if err := errors.Join(make(one), make(one)); err != nil {
		t.Fatal(err)
	}
	refused(one, "processes of user 1 hold 16384 of the 16384 bytes that the server's option "+
		"WithMaxMemoryOfUser allows")
	if err := make(other); err != nil {
		t.Fatal(err)
	}
	refused(other,
		"clients hold 24576 of the 24576 bytes that the server's option WithMaxMemory allows")
	for _, letGo := range kept {
		letGo()
	}
	if err := make(one); err != nil {
		t.Error("what is gone counts still: ", err)
	}
}

func TestSegmentsWhoseReportsFoundNoRoomAreForgottenAllTheSame(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skip("this machine does not say how many reports it keeps")
	}
	room, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || room > 100_000 {
		t.Skip("this machine keeps too many reports: ", room)
	}
	l := ledger(t, 1<<40, 0)
	account := Account{Ledger: l}
	kept, keptFD, err := account.Create(page)
	if err != nil {
		t.Fatal(err)
	}
	for range room/2 + 10 { // Each makes two reports, which are not read.
		fd, err := memfd("breezeway")
		if err != nil {
			t.Fatal(err)
		}
		number, err := unix.InotifyAddWatch(l.reports, "/proc/self/fd/"+strconv.Itoa(fd),
			unix.IN_DELETE_SELF)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		l.handedOut[int32(number)] = holding{User{}, page}
		l.held += page
		l.byUser[User{}] += page
	}
	if held := l.Held(); held != page {
		t.Errorf("%d bytes are held", held)
	}
	kept.Drop()
	unix.Close(keptFD)
	if held := l.Held(); held != 0 {
		t.Errorf("%d bytes are held at last", held)
	}
}

func TestLargeSegmentBeingMadeDelaysNoOther(t *testing.T) {
	const large = 256 << 20
	account := Account{Ledger: ledger(t, 1<<40, 0), User: User{true, 1}}
	done := make(chan struct{})
	go func() {
		mapping, fd, err := account.Create(large)
		close(done)
		if err != nil {
			t.Error(err)
			return
		}
		mapping.Drop()
		unix.Close(fd)
	}()
	for account.Ledger.Held() < large { // The segment counts from the start.
		runtime.Gosched()
	}
	mapping, fd, err := account.Create(page)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	defer mapping.Drop()
	select {
	case <-done:
		t.Error("a small segment was made only once the large one was")
	default:
	}
	<-done
}
