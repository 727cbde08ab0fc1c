// Package versus measures the same calls over two transports, in turn, against servers in processes
// of their own. The measurements of the sibling modules use it.
package versus

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var asked = flag.Duration("versus", 0, "measure for so long per row and transport")

// serveAt is the environment variable that makes this program serve when it is started again.
const serveAt = "BREEZEWAY_VERSUS_SERVE"

// Main implements TestMain: it serves if this program was started for that, or runs the tests. The
// function serve calls listening once it listens, and returns the reason of its end.
func Main(m *testing.M, serve func(address string, listening func()) error) {
	if address := os.Getenv(serveAt); address != "" {
		log.Fatal(serve(address, func() { fmt.Println("listening") }))
	}
	os.Exit(m.Run())
}

// UnixPath returns the path of a unix address, and false for all others.
func UnixPath(address string) (path string, is bool) { return strings.CutPrefix(address, "unix:") }

// Servers starts this program as two servers, which end with the test: in shared memory, and on a
// unix socket, whose path it returns.
func Servers(t *testing.T) (shm, unix string) {
	t.Helper()
	folder := t.TempDir()
	shm, unix = "shm:"+filepath.Join(folder, "shm"), filepath.Join(folder, "unix")
	start(t, shm)
	start(t, "unix:"+unix)
	return shm, unix
}

// Ask returns the requested time of a measurement, or skips it if none was requested.
func Ask(t *testing.T) time.Duration {
	if *asked == 0 {
		t.Skip("measures only with -versus, such as -versus 2s")
	}
	return *asked
}

// start starts this program as a server, which ends with the test.
func start(t *testing.T, address string) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), serveAt+"="+address)
	command.Stderr = os.Stderr
	// The server also ends if the tests are killed.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Fatal("the server does not say that it listens: ", err)
	}
}

// rounds is the number of turns of each transport.
const rounds = 8

// Row measures calls by several goroutines, over a socket and over shared memory, and prints both.
func Row(t *testing.T, name string, goroutines int, socket, memory func() error) {
	t.Helper()
	var times [2][]time.Duration
	var elapsed [2]time.Duration
	for round := range rounds + 1 {
		for i, call := range []func() error{socket, memory} {
			began := time.Now()
			some := several(t, goroutines, *asked/rounds, call)
			if round > 0 { // The first one warms up.
				times[i] = append(times[i], some...)
				elapsed[i] += time.Since(began)
			}
		}
	}
	var rates [2]float64
	for i := range times {
		slices.Sort(times[i])
		rates[i] = float64(len(times[i])) / elapsed[i].Seconds()
	}
	fmt.Printf("%-34s unix p50 %8.1f µs, p99 %8.1f µs, %7.0f/s; shm %8.1f µs, %8.1f µs, %7.0f/s: "+
		"p50 %.2f ×, calls a second %.2f ×\n", name, at(times[0], 0.5), at(times[0], 0.99),
		rates[0],
		at(times[1], 0.5), at(times[1], 0.99), rates[1],
		at(times[1], 0.5)/at(times[0], 0.5), rates[1]/rates[0])
}

// at returns the latency in microseconds at a quantile, or NaN without calls.
func at(times []time.Duration, part float64) float64 {
	if len(times) == 0 {
		return math.NaN()
	}
	return float64(times[int(part*float64(len(times)-1))].Nanoseconds()) / 1000
}

func several(t *testing.T, goroutines int, long time.Duration, call func() error) []time.Duration {
	var all sync.WaitGroup
	times := make([][]time.Duration, goroutines)
	until := time.Now().Add(long)
	for i := range times {
		all.Add(1)
		go func() {
			defer all.Done()
			for began := time.Now(); began.Before(until); {
				if err := call(); err != nil {
					t.Error(err)
					return
				}
				now := time.Now()
				times[i] = append(times[i], now.Sub(began))
				began = now
			}
		}()
	}
	all.Wait()
	return slices.Concat(times...)
}
