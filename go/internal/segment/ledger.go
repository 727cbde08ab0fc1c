package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A User is an owner of processes. All users that are not known count as one.
type User struct {
	Known bool
	UID   uint32
}

func (u User) String() string {
	if !u.Known {
		return "users unknown here"
	}
	return fmt.Sprintf("processes of user %d", u.UID)
}

// A Ledger counts the segments that a server has handed out until no process holds them. A sealed
// memfd frees no page while a process has a descriptor or a mapping of it, and the owner cannot see
// which processes do. But the kernel deletes the nameless file when the last hold is gone, and
// inotify(7) reports that.
type Ledger struct {
	total, ofUser uint64 // 0 without a limit
	reports       int

	mu        sync.Mutex
	handedOut map[int32]holding // by the numbers of the reports
	held      uint64
	byUser    map[User]uint64
}

type holding struct {
	user User
	size uint64
}

// An Account is the recipient of segments. Without a ledger nothing is counted.
type Account struct {
	Ledger *Ledger
	User   User
}

// NewLedger returns a ledger with limits; 0 sets none. It fails if this machine does not report the
// end of segments: a server that counts memory which it never gets back would eventually refuse all
// clients.
func NewLedger(total, ofUser uint64) (*Ledger, error) {
	reports, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("memory cannot be counted: inotify_init: %w (raise "+
			"fs.inotify.max_user_instances, or set no limit of memory)", err)
	}
	l := &Ledger{total: total, ofUser: ofUser, reports: reports,
		handedOut: map[int32]holding{}, byUser: map[User]uint64{}}
	runtime.SetFinalizer(l, func(l *Ledger) { _ = unix.Close(l.reports) })
	return l, l.probe()
}

func (l *Ledger) probe() error {
	const size = 4096
	unlimited := &Ledger{reports: l.reports, handedOut: map[int32]holding{},
		byUser: map[User]uint64{}}
	mapping, fd, err := (&Account{Ledger: unlimited}).Create(size)
	if err != nil {
		return err
	}
	mapping.Drop()
	unix.Close(fd)
	if unlimited.Held() > 0 {
		return errors.New("memory cannot be counted here: the kernel does not report what is " +
			"gone; set no limit of memory")
	}
	return nil
}

// Held returns the number of bytes that are held now.
func (l *Ledger) Held() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take()
	return l.held
}

// Create creates a sealed segment like the function Create, within the limits. The segment counts
// until no process has it any more.
func (a *Account) Create(size int) (*Mapping, int, error) {
	l := a.Ledger
	if l == nil {
		return Create(size)
	}
	if err := l.reserve(a.User, uint64(size)); err != nil {
		return nil, -1, err
	}
	// The lock is not held: a large segment takes many milliseconds.
	mapping, fd, err := Create(size)
	l.mu.Lock()
	defer l.mu.Unlock()
	number := 0
	if err == nil {
		if number, err = l.watch(fd, size); err != nil {
			mapping.Drop()
			unix.Close(fd)
		}
	}
	if err != nil {
		l.giveBack(holding{a.User, uint64(size)})
		return nil, -1, err
	}
	l.handedOut[int32(number)] = holding{a.User, uint64(size)}
	return mapping, fd, nil
}

// reserve counts a segment that is about to be created, within the limits.
func (l *Ledger) reserve(user User, size uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take()
	if err := l.check(user, size); err != nil {
		return err
	}
	l.held += size
	l.byUser[user] += size
	return nil
}

// watch requests a report of the end of a segment, and returns the number in that report.
func (l *Ledger) watch(fd, size int) (number int, err error) {
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	if number, err = unix.InotifyAddWatch(l.reports, path, unix.IN_DELETE_SELF); err != nil {
		return 0, &ShortageError{Text: fmt.Sprintf("a segment of %d bytes cannot be counted, and "+
			"is not made: inotify_add_watch: %v (raise fs.inotify.max_user_watches)", size, err),
			Err: err}
	}
	return number, nil
}

func (l *Ledger) check(user User, size uint64) error {
	refused := func(who string, held, limit uint64, option string) error {
		return &ShortageError{Text: fmt.Sprintf("a segment of %d bytes: %s hold %d of the %d "+
			"bytes that the server's option %s allows", size, who, held, limit, option)}
	}
	if l.total > 0 && size > l.total-min(l.held, l.total) {
		return refused("clients", l.held, l.total, "WithMaxMemory")
	}
	if held := l.byUser[user]; l.ofUser > 0 && size > l.ofUser-min(held, l.ofUser) {
		return refused(user.String(), held, l.ofUser, "WithMaxMemoryOfUser")
	}
	return nil
}

// take processes the reports of segments that are gone.
func (l *Ledger) take() {
	const head = unix.SizeofInotifyEvent
	var room [4096]byte
	lost := false
	for {
		n, err := unix.Read(l.reports, room[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n < head {
			break
		}
		for report := room[:n]; len(report) >= head; {
			mask := binary.NativeEndian.Uint32(report[4:])
			lost = lost || mask&unix.IN_Q_OVERFLOW != 0
			if mask&unix.IN_IGNORED != 0 {
				l.forget(int32(binary.NativeEndian.Uint32(report)))
			}
			report = report[min(len(report), head+int(binary.NativeEndian.Uint32(report[12:]))):]
		}
	}
	if lost {
		l.compare()
	}
}

func (l *Ledger) forget(number int32) {
	gone, known := l.handedOut[number]
	if !known {
		return
	}
	delete(l.handedOut, number)
	l.giveBack(gone)
}

// giveBack removes a segment from the count. The lock is held.
func (l *Ledger) giveBack(gone holding) {
	l.held -= gone.size
	if l.byUser[gone.user] -= gone.size; l.byUser[gone.user] == 0 {
		delete(l.byUser, gone.user)
	}
}

// compare removes the segments that are gone according to the kernel's list, after reports were
// lost.
func (l *Ledger) compare() {
	list, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", l.reports))
	if err != nil {
		return
	}
	watched := map[int32]bool{}
	for _, line := range strings.Split(string(list), "\n") {
		var number int32
		if _, err := fmt.Sscanf(line, "inotify wd:%x", &number); err == nil {
			watched[number] = true
		}
	}
	for number := range l.handedOut {
		if !watched[number] {
			l.forget(number)
		}
	}
}
