// Command go-peers is an echo over a bare unix socket in Go: the least that a program in Go pays
// for a message and its answer without Breezeway. `bench-go` measures it beside bwgo.
//
//	go-peers serve PATH
//	go-peers bench PATH SIZE SECONDS [CALLS_PER_SECOND]
//
// bench prints the median, the 99th percentile and its own CPU time per call, in microseconds.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// warmUp is the time after which calls count.
const warmUp = 20 * time.Millisecond

func main() {
	log.SetFlags(0)
	switch arguments := os.Args[1:]; {
	case len(arguments) == 2 && arguments[0] == "serve":
		serve(arguments[1])
	case (len(arguments) == 4 || len(arguments) == 5) && arguments[0] == "bench":
		rate := 0.0
		if len(arguments) == 5 {
			rate = number(arguments[4])
		}
		bench(arguments[1], int(number(arguments[2])), number(arguments[3]), rate)
	default:
		log.Fatal("go-peers serve PATH | bench PATH SIZE SECONDS [CALLS_PER_SECOND]")
	}
}

func number(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func serve(path string) {
	listener, err := net.Listen("unix", path)
	must(err)
	fmt.Println("listening on", path)
	for {
		conn, err := listener.Accept()
		must(err)
		go func() {
			defer conn.Close()
			buffer := make([]byte, 1<<20)
			for {
				n, err := conn.Read(buffer)
				if err != nil {
					return
				}
				if _, err := conn.Write(buffer[:n]); err != nil {
					return
				}
			}
		}()
	}
}

// bench calls as fast as it can, or at a rate like bwgo: it sleeps as programs do until each call is
// due, and a latency runs from the begin of its call or, after a call that ended late, from when the
// call was due.
func bench(path string, size int, seconds, rate float64) {
	conn, err := net.Dial("unix", path)
	must(err)
	request, reply := make([]byte, size), make([]byte, size)
	var times []time.Duration
	cpu, start := cpuTime(), time.Now()
	for round := 0; time.Since(start).Seconds() < seconds; round++ {
		began := time.Now()
		if rate > 0 {
			due := start.Add(time.Duration(float64(round) / rate * 1e9))
			if early := due.Sub(began); early > 0 {
				time.Sleep(early)
				due = time.Now()
			}
			began = due
		}
		for i := range request {
			request[i] = byte(i + round)
		}
		_, err := conn.Write(request)
		must(err)
		_, err = io.ReadFull(conn, reply)
		must(err)
		if !bytes.Equal(request, reply) {
			log.Fatal("another reply")
		}
		if began.Sub(start) < warmUp {
			cpu = cpuTime()
			continue
		}
		times = append(times, time.Since(began))
	}
	used := float64(cpuTime()-cpu) / 1000 / float64(len(times))
	slices.Sort(times)
	at := func(part float64) float64 {
		return float64(times[int(part*float64(len(times)-1))].Nanoseconds()) / 1000
	}
	fmt.Printf("%.2f %.2f %.2f\n", at(0.5), at(0.99), used)
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
