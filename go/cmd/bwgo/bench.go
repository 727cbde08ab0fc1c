package main

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

type load struct {
	settings
	pattern  string
	size     size
	count    uint64
	seconds  float64
	rate     float64
	depth    int
	batch    int
	sessions int
	streams  int
	touch    string
	json     bool
}

func bench(args []string) error {
	l := load{size: 64}
	flags := newFlags("bench", &l.settings)
	flags.StringVar(&l.pattern, "pattern", "ping-pong",
		"ping-pong, one-way, or cold: connect, call and close, repeatedly")
	flags.Var(&l.size, "size", "bytes of each message, such as 40 or 64KiB")
	flags.Uint64Var(&l.count, "count", 0,
		"end after this many messages, shared out among the sessions")
	flags.Float64Var(&l.seconds, "seconds", 5, "end after this time")
	flags.Float64Var(&l.rate, "rate", 0,
		"open loop: calls a second and session, one outstanding, sleeping until each is due")
	flags.IntVar(&l.depth, "depth", 1, "calls in flight on each session, each of a goroutine")
	flags.IntVar(&l.batch, "batch", 64, "one-way messages per wake-up of the server")
	flags.IntVar(&l.sessions, "sessions", 1, "concurrent sessions")
	flags.IntVar(&l.streams, "streams", 0,
		"exchange messages on this many streams of each session, one in flight on each, in place "+
			"of calls; a server in Rust must be one of --runtime tokio")
	flags.StringVar(&l.touch, "touch", "all",
		"all: every byte is written and compared; none: the first 8")
	flags.BoolVar(&l.json, "json", false, "print one line with one JSON object")
	if err := l.parse(flags, args); err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return err
	}
	report, err := l.run()
	if err != nil {
		return err
	}
	return report.print(l.json)
}

func (l *load) check() error {
	switch {
	case l.pattern != "ping-pong" && l.pattern != "one-way" && l.pattern != "cold":
		return fmt.Errorf("--pattern %q is none of ping-pong, one-way and cold", l.pattern)
	case l.touch != "all" && l.touch != "none":
		return fmt.Errorf("--touch %q is none of all and none", l.touch)
	case l.depth < 1 || l.sessions < 1 || l.batch < 1:
		return fmt.Errorf("--depth, --sessions and --batch are at least 1")
	case l.streams < 0 || l.streams > math.MaxUint16:
		return fmt.Errorf("--streams is at most %d", math.MaxUint16)
	case l.pattern != "ping-pong" && (l.rate > 0 || l.depth > 1 || l.streams > 0),
		l.streams > 0 && (l.rate > 0 || l.depth > 1):
		return fmt.Errorf("--rate, --depth, --streams and a --pattern exclude each other")
	case l.rate < 0 || l.seconds <= 0:
		return fmt.Errorf("--rate and --seconds are more than 0")
	}
	return nil
}

// run warms up all sessions and then runs them.
func (l *load) run() (*report, error) {
	both, err := l.options()
	if err != nil {
		return nil, err
	}
	options := []breezeway.DialOption{breezeway.WithCallTimeout(l.callTimeout)}
	for _, option := range both {
		options = append(options, option)
	}
	drivers := make([]*driver, l.sessions)
	for i := range drivers {
		if drivers[i], err = newDriver(l, options); err != nil {
			return nil, err
		}
		defer drivers[i].close()
	}
	count := uint64(math.MaxUint64)
	if l.count > 0 {
		count = max(l.count/uint64(l.sessions), 1)
	}
	cpu, start := cpuTime(), time.Now()
	until := start.Add(time.Duration(l.seconds * float64(time.Second)))
	if l.count > 0 {
		until = start.Add(24 * time.Hour)
	}
	errs := make([]error, len(drivers))
	var all sync.WaitGroup
	for i, d := range drivers {
		all.Add(1)
		go func() {
			defer all.Done()
			errs[i] = d.run(count, until)
		}()
	}
	all.Wait()
	elapsed := time.Since(start).Seconds()
	used := cpuTime() - cpu
	r := &report{Addr: drivers[0].conn.Address().String(), Pattern: l.pattern, Size: uint64(l.size),
		Wait: l.wait, Touch: l.touch, Seconds: elapsed, ClientCPUSeconds: used.Seconds()}
	var latencies histogram
	for i, d := range drivers {
		if errs[i] != nil {
			return nil, errs[i]
		}
		r.Count += d.count
		latencies.merge(&d.latencies)
	}
	r.MessagesPerSecond = float64(r.Count) / elapsed
	r.BytesPerSecond = r.MessagesPerSecond * float64(r.Size)
	r.LatencyNS = latencies.percentiles()
	return r, nil
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// A report has the fields of `breezeway bench --json`.
type report struct {
	Addr              string       `json:"addr"`
	Pattern           string       `json:"pattern"`
	Size              uint64       `json:"size"`
	Count             uint64       `json:"count"`
	Wait              string       `json:"wait"`
	Touch             string       `json:"touch"`
	Seconds           float64      `json:"seconds"`
	MessagesPerSecond float64      `json:"messages_per_second"`
	BytesPerSecond    float64      `json:"bytes_per_second"`
	LatencyNS         *percentiles `json:"latency_ns"`
	ClientCPUSeconds  float64      `json:"client_cpu_seconds"`
}

func (r *report) print(asJSON bool) error {
	if asJSON {
		text, err := json.Marshal(r)
		if err == nil {
			fmt.Println(string(text))
		}
		return err
	}
	fmt.Printf("%s  %s  %d B  wait %s  touch %s\n", r.Addr, r.Pattern, r.Size, r.Wait, r.Touch)
	fmt.Printf("  messages       %16d\n  seconds        %16.3f\n  messages/s     %16.0f\n"+
		"  MB/s           %16.1f\n  client CPU s   %16.3f\n",
		r.Count, r.Seconds, r.MessagesPerSecond, r.BytesPerSecond/1e6, r.ClientCPUSeconds)
	if l := r.LatencyNS; l != nil {
		fmt.Printf("  min            %13.0f ns\n  p50            %13.0f ns\n"+
			"  p90            %13.0f ns\n"+
			"  p99            %13.0f ns\n  p99.9          %13.0f ns\n  max            %13.0f ns\n"+
			"  mean           %13.0f ns\n",
			l.Min, l.P50, l.P90, l.P99, l.P999, l.Max, l.Mean)
	}
	return nil
}
