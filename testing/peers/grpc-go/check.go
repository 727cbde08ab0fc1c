package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
)

// warmUp is the number of calls before the first one that counts.
const warmUp = 1000

// check makes so many health checks, one at a time, and prints on one line how many nanoseconds half
// of them and 99 % of them took at most, how many seconds all took, and how many allocations each
// makes on both sides together, counted with a server of this process at an address of that kind.
func check(address, count string) {
	number, err := strconv.Atoi(count)
	if err != nil || number <= 0 {
		log.Fatal(usage)
	}
	client := dial(address)
	calls(client, warmUp)
	start := time.Now()
	times := calls(client, number)
	seconds := time.Since(start).Seconds()
	slices.Sort(times)
	p50, p99 := times[number/2], times[number*99/100]
	fmt.Printf("%d %d %.3f %.1f\n", p50.Nanoseconds(), p99.Nanoseconds(), seconds, allocations(address))
}

func dial(address string) healthgrpc.HealthClient {
	target := strings.TrimPrefix(address, "tcp:")
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	return healthgrpc.NewHealthClient(conn)
}

func calls(client healthgrpc.HealthClient, count int) []time.Duration {
	times := make([]time.Duration, count)
	for number := range times {
		start := time.Now()
		response, err := client.Check(context.Background(), &healthgrpc.HealthCheckRequest{})
		times[number] = time.Since(start)
		if err != nil {
			log.Fatal(err)
		}
		if response.Status != healthgrpc.HealthCheckResponse_SERVING {
			log.Fatal(response)
		}
	}
	return times
}

func allocations(address string) float64 {
	const count = 10000
	network, _, _ := strings.Cut(address, ":")
	place := "127.0.0.1:0"
	if network == "unix" {
		folder, err := os.MkdirTemp("", "grpc-go")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(folder)
		place = filepath.Join(folder, "socket")
	}
	listener, err := net.Listen(network, place)
	if err != nil {
		log.Fatal(err)
	}
	server := server()
	go server.Serve(listener)
	defer server.Stop()
	client := dial(network + ":" + listener.Addr().String())
	calls(client, warmUp)
	before := mallocs()
	calls(client, count)
	return float64(mallocs()-before) / count
}

func mallocs() uint64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.Mallocs
}
