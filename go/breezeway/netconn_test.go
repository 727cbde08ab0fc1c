package breezeway_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func TestAConnectionThatIsClosedKeepsNothingOfWhatItHasRead(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // The collector would eventually release it.
	for _, length := range []int{200, 100} {
		listener := netListener(t, "shm")
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write(make([]byte, 200))
				_ = conn.Close()
			}
		}()
		session := dial(t, listener.Addr().String())
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for i := range 1000 { // More than there are lends.
			conn, err := session.DialNet(ctx)
			if err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.ReadFull(conn, make([]byte, length)); err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
			_ = conn.Close()
		}
	}
}

func TestADeadlineThatMovesEndsAReadWhereItIsThenAndCostsNoTimer(t *testing.T) {
	listener := netListener(t, "shm")
	conn, err := dial(t, listener.Addr().String()).DialNet(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	deadlines := []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, time.Hour,
		150 * time.Millisecond}
	for _, deadline := range deadlines[:2] { // Later than the timer that is set.
		_ = conn.SetReadDeadline(began.Add(deadline))
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	if waited := time.Since(began); waited < deadlines[1] {
		t.Errorf("a read ended after %v, before its deadline", waited)
	}
	for _, deadline := range deadlines[2:] { // Earlier than the timer that is set.
		_ = conn.SetReadDeadline(began.Add(deadline))
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	later := began.Add(time.Hour)
	if allocations := testing.AllocsPerRun(100, func() {
		later = later.Add(time.Second)
		_ = conn.SetReadDeadline(later)
		_ = conn.SetReadDeadline(time.Time{})
	}); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}

// copying serves connections and echoes their bytes as io.Copy does: by WriteTo and ReadFrom.
func copying(t *testing.T, carrier string, opts ...breezeway.ServerOption) string {
	listener, err := breezeway.ListenNet(addressOf(t, carrier), nil, serves(opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(listener) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func TestConnCopiesFromReadersAndToWriters(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn, err := dial(t, copying(t, carrier)).DialNet(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		sent := pattern(3<<20, 1)
		buffers := net.Buffers{sent[:0], sent[:10], sent[10:100_010], sent[100_010:100_015],
			sent[100_015 : 1<<20]}
		go func() {
			from := conn.(io.ReaderFrom)
			if n, err := from.ReadFrom(&buffers); n != 1<<20 || err != nil || len(buffers) > 0 {
				t.Errorf("of buffers, %d bytes were sent, %v, %d are left", n, err, len(buffers))
			}
			if n, err := from.ReadFrom(bytes.NewReader(sent[1<<20:])); n != 2<<20 || err != nil {
				t.Errorf("of a reader, %d bytes were sent: %v", n, err)
			}
			_ = conn.(interface{ CloseWrite() error }).CloseWrite()
		}()
		var came bytes.Buffer
		first := make([]byte, 100) // The rest of the message is left to WriteTo.
		if _, err := io.ReadFull(conn, first); err != nil {
			t.Fatal(err)
		}
		came.Write(first)
		n, err := conn.(io.WriterTo).WriteTo(&came)
		if n != 3<<20-100 || err != nil || !bytes.Equal(came.Bytes(), sent) {
			t.Errorf("%d bytes came back, %v", n, err)
		}
	})
}

func TestBuffersTravelTogether(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		lengths := make(chan int, 100)
		address := goServer(t, carrier, echoes, func(_ context.Context, stream *breezeway.Stream) {
			defer close(lengths)
			for {
				m, err := stream.Recv(context.Background())
				if err != nil {
					return
				}
				lengths <- m.Len()
				m.Release()
			}
		})
		conn, err := dial(t, address).DialNet(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		few := net.Buffers{make([]byte, 10), make([]byte, 20), make([]byte, 30)}
		many := net.Buffers{make([]byte, 10), make([]byte, 70_000), make([]byte, 5)}
		for _, buffers := range []*net.Buffers{&few, &many} {
			if _, err := conn.(io.ReaderFrom).ReadFrom(buffers); err != nil {
				t.Fatal(err)
			}
		}
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
		var came []int
		for length := range lengths {
			came = append(came, length)
		}
		if !slices.Equal(came, []int{60, 65_536, 4_479}) {
			t.Errorf("messages of %v bytes", came)
		}
	})
}

func TestAConnectionKeepsToTheLargestMessageOfItsSession(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn, err := dial(t, copying(t, carrier, breezeway.WithCap(4096))).DialNet(
			within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		sent := pattern(100_000, 1)
		go func() {
			if _, err := conn.Write(sent[:50_000]); err != nil {
				t.Error(err)
			}
			if _, err := conn.(io.ReaderFrom).ReadFrom(&net.Buffers{sent[50_000:]}); err != nil {
				t.Error(err)
			}
		}()
		came := make([]byte, len(sent))
		if _, err := io.ReadFull(conn, came); err != nil || !bytes.Equal(came, sent) {
			t.Errorf("%v, or other bytes came back", err)
		}
	})
}
