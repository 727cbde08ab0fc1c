package breezewaykitex_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo/echo"
)

// BenchmarkCall measures calls of Kitex over its own unix socket and as native calls, with both
// sides in this process, and their CPU time. Run it with -cpu 1,2; MeasureBesideUnix has the same
// between two processes.
func BenchmarkCall(b *testing.B) {
	over := func(listen server.Option, address string, call ...client.Option) func(b *testing.B) {
		stop := start(b, address, func(options ...server.Option) server.Server {
			options[0] = listen
			return echo.NewServer(&mirror{}, options...)
		})
		b.Cleanup(func() { _ = stop() })
		c, err := echo.NewClient("Echo", call...)
		if err != nil {
			b.Fatal(err)
		}
		return func(b *testing.B) { eachSize(b, c) }
	}
	folder := b.TempDir()
	path := filepath.Join(folder, "kitex")
	b.Run("kitex", over(server.WithServiceAddr(&net.UnixAddr{Net: "unix", Name: path}),
		"unix:"+path, client.WithHostPorts(path),
		client.WithTransportProtocol(transport.TTHeaderFramed)))
	for _, carrier := range []string{"unix", "shm"} {
		address := carrier + ":" + filepath.Join(folder, carrier)
		b.Run(carrier, over(breezewaykitex.Server(address), address,
			breezewaykitex.Client(address)))
	}
}

func eachSize(b *testing.B, c echo.Client) {
	for _, size := range []int{64, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			sent, before := make([]byte, size), cpuTime(b)
			b.SetBytes(int64(2 * size))
			for b.Loop() {
				back, err := c.Echo(context.Background(), sent)
				if err != nil || len(back) != size {
					b.Fatalf("%d bytes come back: %v", len(back), err)
				}
			}
			spent := cpuTime(b) - before
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime returns the time that this process has had of the CPUs.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
