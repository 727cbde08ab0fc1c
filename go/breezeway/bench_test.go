package breezeway_test

import (
	"context"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// BenchmarkCall measures an echo with both sides in this process, polling.
func BenchmarkCall(b *testing.B) {
	conn := dial(b, goServer(b, "shm", echoes, nil, breezeway.WithWaitPolicy(breezeway.Busy)),
		breezeway.WithWaitPolicy(breezeway.Busy))
	request, reply := make([]byte, 64), make([]byte, 0, 64)
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		m, err := conn.Call(context.Background(), echo, request)
		if err != nil {
			b.Fatal(err)
		}
		if reply, err = m.AppendTo(reply[:0]); err != nil {
			b.Fatal(err)
		}
		m.Release()
	}
}

// BenchmarkManyGoroutines measures 200 goroutines that share a session, with 8 bytes touched.
func BenchmarkManyGoroutines(b *testing.B) {
	conn := dial(b, goServer(b, "shm", echoes, nil))
	b.SetParallelism(100)
	b.RunParallel(func(pb *testing.PB) {
		request := make([]byte, 64)
		for pb.Next() {
			m, err := conn.Call(context.Background(), echo, request)
			if err != nil {
				b.Error(err)
				return
			}
			m.Release()
		}
	})
}
