// Package versus measures the same calls over two transports, in turn, against servers in processes
// of their own. The measurements of the sibling modules use it.
package versus

import (
	"bufio"
	"encoding/json"
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
	Start(t, shm)
	Start(t, "unix:"+unix)
	return shm, unix
}

// Ask returns the requested time of a measurement, or skips it if none was requested.
func Ask(t *testing.T) time.Duration {
	if *asked == 0 {
		t.Skip("measures only with -versus, such as -versus 2s")
	}
	return *asked
}

// Start starts this program as a server, which ends with the test.
func Start(t *testing.T, address string) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), serveAt+"="+address)
	run(t, command)
}

// StartCommand starts the command breezeway as a server, which ends with the test.
func StartCommand(t *testing.T, command, protocol, address string) {
	t.Helper()
	run(t, exec.Command(command, "serve", "--protocol", protocol, "--addr", address))
}

// run starts a server that prints a line once it listens.
func run(t *testing.T, command *exec.Cmd) {
	t.Helper()
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

// A Turn makes calls for the time of a turn, and returns their latencies and the calls a second.
// The latencies of calls that another program makes are their median alone.
type Turn func() (times []time.Duration, rate float64)

// turns is the number of pairs of turns.
const turns = 11

// Calls returns turns of calls by several goroutines.
func Calls(t *testing.T, goroutines int, call func() error) Turn {
	return func() ([]time.Duration, float64) {
		began := time.Now()
		times := several(t, goroutines, *asked/turns, call)
		return times, float64(len(times)) / time.Since(began).Seconds()
	}
}

// Paced returns turns of calls by one goroutine that begins so many a second.
func Paced(t *testing.T, perSecond float64, call func() error) Turn {
	return func() ([]time.Duration, float64) {
		var times []time.Duration
		began := time.Now()
		for due := began; due.Sub(began) < *asked/turns; {
			time.Sleep(time.Until(due))
			start := time.Now()
			if err := call(); err != nil {
				t.Fatal(err)
			}
			times = append(times, time.Since(start))
			due = due.Add(time.Duration(float64(time.Second) / perSecond))
		}
		return times, float64(len(times)) / time.Since(began).Seconds()
	}
}

// Command returns turns of calls of 64 bytes by the command breezeway, one at a time.
func Command(t *testing.T, command, protocol, address string) Turn {
	return func() ([]time.Duration, float64) {
		output, err := exec.Command(command, "bench", "--protocol", protocol, "--addr", address,
			"--size", "64", "--seconds", fmt.Sprint((*asked / turns).Seconds()), "--json").Output()
		var figures struct {
			Latency struct{ P50 float64 } `json:"latency_ns"`
		}
		if err == nil {
			err = json.Unmarshal(output, &figures)
		}
		if err != nil {
			t.Fatal(err)
		}
		return []time.Duration{time.Duration(figures.Latency.P50)}, math.NaN()
	}
}

// Pairs measures a way to call beside another one, in turns, and prints the medians of the turns
// and of the ratios of the pairs, with their quartiles. The first pair warms up.
func Pairs(name, other string, reference, measured Turn) {
	var p50 [2][]float64
	var ratios, rates []float64
	for pair := range turns + 1 {
		var half, rate [2]float64
		for i, turn := range []Turn{reference, measured} {
			times, perSecond := turn()
			slices.Sort(times)
			half[i], rate[i] = at(times, 0.5), perSecond
		}
		if pair > 0 {
			p50[0], p50[1] = append(p50[0], half[0]), append(p50[1], half[1])
			ratios, rates = append(ratios, half[1]/half[0]), append(rates, rate[1]/rate[0])
		}
	}
	for _, list := range [][]float64{p50[0], p50[1], ratios, rates} {
		slices.Sort(list)
	}
	quartiles := func(list []float64) string {
		return fmt.Sprintf("%.2f × (%.2f to %.2f)", list[turns/2], list[turns/4], list[3*turns/4])
	}
	fmt.Printf("%-34s p50 %8.1f µs, %s %8.1f µs: %s", name, p50[1][turns/2], other,
		p50[0][turns/2], quartiles(ratios))
	if !math.IsNaN(rates[0]) {
		fmt.Printf("; calls a second %s", quartiles(rates))
	}
	fmt.Println()
}

// Row measures calls by several goroutines over shared memory beside those over a socket.
func Row(t *testing.T, name string, goroutines int, socket, memory func() error) {
	t.Helper()
	Pairs(name, "unix", Calls(t, goroutines, socket), Calls(t, goroutines, memory))
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
