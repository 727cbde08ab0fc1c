package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/shmipc-go"
)

// warmUp is how many round trips of each stream come before the first that counts.
const warmUp = 200

// report is the line that a bench prints; the names are those of `breezeway bench --json`.
type report struct {
	Addr              string             `json:"addr"`
	Size              int                `json:"size"`
	Streams           int                `json:"streams"`
	Count             int                `json:"count"`
	Touch             string             `json:"touch"`
	Seconds           float64            `json:"seconds"`
	MessagesPerSecond float64            `json:"messages_per_second"`
	Latency           map[string]float64 `json:"latency_ns"`
}

func bench(arguments []string) error {
	var told settings
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	told.register(flags)
	size := flags.Int("size", 64, "bytes of a message")
	streams := flags.Int("streams", 1, "streams at the same time, each with one message in flight")
	seconds := flags.Float64("seconds", 2, "how long to measure")
	touch := flags.String("touch", "all", "which bytes to write and compare: all or none")
	flags.Parse(arguments)

	manager, err := told.connect()
	if err != nil {
		return err
	}
	defer manager.Close()
	runs := make(chan run, *streams)
	for range *streams {
		go func() {
			runs <- measure(manager, *size, *touch == "all", time.Duration(*seconds*float64(time.Second)))
		}()
	}
	var latencies []time.Duration
	for range *streams {
		run := <-runs
		if run.failure != nil {
			return run.failure
		}
		latencies = append(latencies, run.latencies...)
	}
	return printReport(told.mode, *size, *streams, *touch, *seconds, latencies)
}

func printReport(mode string, size, streams int, touch string, seconds float64, latencies []time.Duration) error {
	slices.Sort(latencies)
	at := func(quantile float64) float64 {
		return float64(latencies[int(quantile*float64(len(latencies)-1))].Nanoseconds())
	}
	line, err := json.Marshal(report{
		Addr:              "shmipc-go " + mode,
		Size:              size,
		Streams:           streams,
		Count:             len(latencies),
		Touch:             touch,
		Seconds:           seconds,
		MessagesPerSecond: float64(len(latencies)) / seconds,
		Latency:           map[string]float64{"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "p999": at(0.999)},
	})
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return nil
}

// run holds the results of one stream.
type run struct {
	latencies []time.Duration
	failure   error
}

// measure sends one message after the other for a time; a latency is the time from the end of one
// round trip to the end of the next, so that touching the payload is part of it.
func measure(manager *shmipc.SessionManager, size int, touch bool, duration time.Duration) run {
	stream, err := manager.GetStream()
	if err != nil {
		return run{failure: err}
	}
	defer stream.Close()
	var latencies []time.Duration
	for round := range uint64(warmUp) {
		if err := bare(stream, size, touch, round); err != nil {
			return run{failure: err}
		}
	}
	start := time.Now()
	before := time.Duration(0)
	for round := uint64(warmUp); before < duration; round++ {
		if err := bare(stream, size, touch, round); err != nil {
			return run{failure: err}
		}
		after := time.Since(start) // It reads one clock, and Now two.
		latencies = append(latencies, after-before)
		before = after
	}
	return run{latencies: latencies}
}

// bare is a round trip without copies: written in place, compared in place.
func bare(stream *shmipc.Stream, size int, touch bool, round uint64) error {
	message, err := stream.BufferWriter().Reserve(size)
	if err != nil {
		return err
	}
	if touch {
		fill(message, seedOf(round))
	}
	if err := stream.Flush(false); err != nil {
		return err
	}
	answer, err := stream.BufferReader().ReadBytes(size)
	if err != nil {
		return err
	}
	if touch && !matches(answer, seedOf(round)) {
		return errors.New("the answer differs")
	}
	stream.ReleaseReadAndReuse()
	return nil
}
