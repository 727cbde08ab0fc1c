package breezeway_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

var idleSessions = flag.Int("idle", 0, "measure what so many idle sessions cost, such as 1000")

// runs holds how long a thread has run, and how often it began to. The kernel counts both. A thread
// that did not run has made no system call.
type runs struct{ nanoseconds, times uint64 }

// ran returns the runs of a process by thread.
func ran(t testing.TB, pid int) map[string]runs {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatal("no threads of the server: ", err)
	}
	all := map[string]runs{}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // The thread has ended.
		}
		var one runs
		var waited uint64
		if err == nil {
			_, err = fmt.Sscan(string(text), &one.nanoseconds, &waited, &one.times)
		}
		if err != nil {
			t.Fatal(err)
		}
		all[thread] = one
	}
	return all
}

// ranSince returns the sum of the runs since the sample before, of threads that have not ended.
func ranSince(t testing.TB, pid int, before map[string]runs) (sum runs) {
	t.Helper()
	for thread, now := range ran(t, pid) {
		was := before[thread] // Zero for a new thread.
		sum.nanoseconds += now.nanoseconds - was.nanoseconds
		sum.times += now.times - was.times
	}
	return sum
}

// idle opens sessions that make one call each, and then do nothing.
func idle(t testing.TB, address string, count int) []*breezeway.Session {
	t.Helper()
	conns := make([]*breezeway.Session, count)
	for i := range conns {
		conns[i] = dial(t, address)
		reply, err := conns[i].Call(context.Background(), echo, make([]byte, 40))
		if err != nil {
			t.Fatal(err)
		}
		reply.Release()
	}
	return conns
}

func TestIdleSessionsUseNoCPUBesideBusyOnes(t *testing.T) {
	const sessions, window = 300, 300 * time.Millisecond
	server, address := start(t, commands(t)["go"], "shm")
	conns := idle(t, address, sessions)
	// The runtime's own threads run a few more times, and ever less often. Work for each session
	// would run as often as there are sessions, in every window.
	var began uint64
	for range 20 {
		before := ran(t, server.Process.Pid)
		time.Sleep(window)
		if began = ranSince(t, server.Process.Pid, before).times; began < sessions/10 {
			break
		}
	}
	if began >= sessions/10 {
		t.Errorf("with %d idle sessions the server's threads ran %d times within %v", sessions,
			began,
			window)
	}
	for i := 0; i < sessions; i += 50 {
		sent := pattern(3000, byte(i))
		reply, err := conns[i].Call(within(t, time.Minute), echo, sent)
		if err != nil || !bytes.Equal(reply.Bytes(), sent) {
			t.Fatalf("session %d: %v", i, err)
		}
	}
}

// kibibytes returns the number behind a name in a page of the kernel with sizes in KiB.
func kibibytes(t testing.TB, page, name string) float64 {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			number, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				t.Fatal(err)
			}
			return number
		}
	}
	t.Fatalf("%s does not say %s", page, name)
	return 0
}

// TestMeasureIdle prints the cost of idle sessions, as `make bench-idle` does for Rust:
//
//	go test -run MeasureIdle . -idle 1000
func TestMeasureIdle(t *testing.T) {
	if *idleSessions == 0 {
		t.Skip("measures only with -idle, such as -idle 1000")
	}
	for name, command := range commands(t) {
		t.Run("served by "+name, func(t *testing.T) { measureIdle(t, command) })
	}
}

func measureIdle(t *testing.T, command string) {
	const watched, pairs, turn = 3 * time.Second, 21, 200 * time.Millisecond
	server, crowded := start(t, command, "shm")
	_, empty := start(t, command, "shm")
	alone, among := dial(t, empty), dial(t, crowded)
	p50 := func(conn *breezeway.Session) time.Duration {
		var times []time.Duration
		sent, back := make([]byte, 40), make([]byte, 0, 40)
		for began, until := time.Now(), time.Now().Add(turn); began.Before(until); {
			reply, err := conn.Call(context.Background(), echo, sent)
			if err == nil {
				back, err = reply.AppendTo(back[:0])
				reply.Release()
			}
			if err != nil || !bytes.Equal(back, sent) {
				t.Fatal("a wrong reply: ", err)
			}
			now := time.Now()
			times = append(times, now.Sub(began))
			began = now
		}
		slices.Sort(times)
		return times[len(times)/2]
	}
	p50(alone)
	p50(among)
	figures := func() (list []float64) {
		time.Sleep(turn)
		process := fmt.Sprintf("/proc/%d/status", server.Process.Pid)
		var kernel float64
		for _, name := range []string{"Slab", "PageTables", "KernelStack"} {
			kernel += kibibytes(t, "/proc/meminfo", name)
		}
		return append(list, kibibytes(t, process, "RssAnon"), kibibytes(t, process, "RssShmem"),
			kibibytes(t, "/proc/self/status", "RssAnon"), kernel)
	}
	before := figures()
	conns := idle(t, crowded, *idleSessions)
	after := figures()
	for i, name := range []string{"the server's own memory (RssAnon)",
		"segments, both sides' (RssShmem)", "the clients' own memory, of one process (RssAnon)",
		"the kernel's, both processes (Slab, PageTables, KernelStack)"} {
		fmt.Printf("%s: %.1f KiB per session\n", name, (after[i]-before[i])/float64(*idleSessions))
	}
	started := ran(t, server.Process.Pid)
	time.Sleep(watched)
	since := ranSince(t, server.Process.Pid, started)
	fmt.Printf("the server in %v with %d idle sessions: ran for %d ns, %d times\n", watched,
		len(conns), since.nanoseconds, since.times)
	var ratios []float64
	var times []time.Duration
	for range pairs {
		base := p50(alone)
		times = append(times, p50(among))
		ratios = append(ratios, float64(times[len(times)-1])/float64(base))
	}
	slices.Sort(ratios)
	slices.Sort(times)
	fmt.Printf("a call of a busy one among them: p50 %v, %.2f x alone (%.2f-%.2f)\n",
		times[pairs/2], ratios[pairs/2], ratios[pairs/4], ratios[3*pairs/4])
}
