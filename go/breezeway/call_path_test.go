package breezeway

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// greeted returns a server that does not serve its sessions, a client of it, and the server's side
// of the session.
func greeted(tb testing.TB, opts ...DialOption) (*Server, *Session, *session) {
	server, address := &Server{handler: echoCall}, "shm:"+filepath.Join(tb.TempDir(), "s")
	if err := server.listen(address); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { server.unbind() })
	accepted := make(chan *session, 1)
	go func() {
		defer close(accepted)
		if conn, err := server.bound[0].socket.Accept(); err == nil {
			if server.enter(conn) != nil {
				return
			}
			if s, _, err := server.greet(conn, Shm); err == nil {
				accepted <- s
			}
		}
	}()
	conn, err := Dial(context.Background(), address, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	serving := <-accepted
	if serving == nil {
		tb.Fatal("no session")
	}
	tb.Cleanup(func() {
		serving.mu.Lock()
		defer serving.mu.Unlock()
		serving.finish(ErrClosed)
	})
	return server, conn, serving
}

// BenchmarkPath measures the code of both sides of an echo of 64 B, run by one goroutine, so that
// neither side waits for another CPU. It reports the best of many runs.
func BenchmarkPath(b *testing.B) {
	server, conn, serving := greeted(b)
	client := conn.session
	request, call, lim := make([]byte, 64), new(Call), limit{}
	echo := func() {
		client.mu.Lock()
		p, w, err := client.ask(0, &outgoing{bytes: request}, &lim)
		client.mu.Unlock()
		if err == nil {
			err = serving.nextArrived(&limit{}, &serving.renewed(call).arrival, call)
		}
		if err != nil {
			b.Fatal(err)
		}
		server.run(call)
		var reply Message
		client.mu.Lock()
		if err := client.waitForReply(w, p, &lim, &reply); err != nil || reply.Len() != 64 {
			b.Fatal(reply.Len(), err)
		}
		reply.Release()
	}
	const together = 1000
	best := time.Hour
	for i := 0; i < b.N; i++ {
		began := time.Now()
		for range together {
			echo()
		}
		best = min(best, time.Since(began))
	}
	b.ReportMetric(float64(best)/together, "ns/call")
}
