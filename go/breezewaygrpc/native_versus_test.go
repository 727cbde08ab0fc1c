package breezewaygrpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/breezeway-ipc/breezeway/go/internal/versus"
)

// TestMeasureNativeBesideUnix prints native unary calls of 64 B each way over shared memory, Go's
// and between Go and Rust, beside those of grpc-go over its own unix sockets:
//
//	BREEZEWAY_BIN=... go test -run MeasureNative . -versus 4s -v
//
// The Rust side is the command breezeway; a debug build of it is slower.
func TestMeasureNativeBesideUnix(t *testing.T) {
	took := versus.Ask(t)
	shm, path := versus.Servers(t)
	unix := calls(t, dialForMeasurement(t, "unix:"+path), took/turns)
	pairs("Go calls Go", unix, calls(t, connect(t, shm), took/turns))
	command := program(t, "BREEZEWAY_BIN")
	rust := "shm:" + t.TempDir() + "/rust"
	startServing(t, command, "serve", "--protocol", "grpc", "--addr", rust)
	pairs("Go calls Rust", unix, calls(t, connect(t, rust), took/turns))
	pairs("Rust calls Go", unix, benched(t, command, shm, took/turns))
}

// TestMeasureManyNativeCalls prints native calls of Go to Go as TestMeasureBesideUnix does those of
// HTTP/2.
func TestMeasureManyNativeCalls(t *testing.T) {
	versus.Ask(t)
	shm, path := versus.Servers(t)
	measure(t, "native, ", dialForMeasurement(t, "unix:"+path), connect(t, shm))
}

// turns is the number of pairs.
const turns = 11

// calls returns a function that makes calls for a time, and returns their median in µs.
func calls(t *testing.T, conn grpc.ClientConnInterface, long time.Duration) func() float64 {
	sent, ctx := wrapperspb.Bytes(make([]byte, 64)), context.Background()
	return func() float64 {
		var took []time.Duration
		for began, until := time.Now(), time.Now().Add(long); began.Before(until); {
			reply := new(wrapperspb.BytesValue)
			err := conn.Invoke(ctx, bouncePath, sent, reply)
			if err != nil || len(reply.Value) != len(sent.Value) {
				t.Fatal(err)
			}
			now := time.Now()
			took, began = append(took, now.Sub(began)), now
		}
		slices.Sort(took)
		return float64(took[len(took)/2].Nanoseconds()) / 1000
	}
}

// benched returns a function that has the command make calls for a time.
func benched(t *testing.T, command, address string, long time.Duration) func() float64 {
	return func() float64 {
		output, err := exec.Command(command, "bench", "--protocol", "grpc", "--addr", address,
			"--size", "64", "--seconds", fmt.Sprint(long.Seconds()), "--json").Output()
		var figures struct {
			Latency struct{ P50 float64 } `json:"latency_ns"`
		}
		if err == nil {
			err = json.Unmarshal(output, &figures)
		}
		if err != nil {
			t.Fatal(err)
		}
		return figures.Latency.P50 / 1000
	}
}

// pairs measures both in turn, and prints medians. The first turn warms up.
func pairs(name string, unix, shm func() float64) {
	var ofUnix, ofShm, ratios []float64
	for turn := range turns + 1 {
		socket, memory := unix(), shm()
		if turn > 0 {
			ofUnix, ofShm = append(ofUnix, socket), append(ofShm, memory)
			ratios = append(ratios, memory/socket)
		}
	}
	for _, list := range [][]float64{ofUnix, ofShm, ratios} {
		slices.Sort(list)
	}
	fmt.Printf("%-14s p50 %5.1f µs, grpc-go over unix %5.1f µs: %.2f × (%.2f to %.2f)\n", name,
		ofShm[turns/2], ofUnix[turns/2], ratios[turns/2], ratios[turns/4], ratios[3*turns/4])
}

// startServing starts a server that prints a line once it listens.
func startServing(t *testing.T, command string, arguments ...string) {
	t.Helper()
	server := exec.Command(command, arguments...)
	output, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
}
