package breezeway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// Methods of `breezeway serve`.
const (
	echo   = 0
	hollow = 1
	sink   = 2
	tally  = 3
)

var carriers = []string{"shm", "unix", "tcp", "tls"}

// addressOf returns an unused address.
func addressOf(t testing.TB, carrier string) string {
	if carrier == "tcp" || carrier == "tls" {
		return carrier + ":" + thisHost.String() + ":0"
	}
	return carrier + ":" + filepath.Join(t.TempDir(), "s")
}

// thisHost is an address without other listeners: a port that was found there can be used again.
var thisHost = net.IPv4(127, byte(1+rand.Intn(250)), byte(rand.Intn(250)), byte(1+rand.Intn(250)))

// rustServer starts `breezeway serve`, whose path is in BREEZEWAY_BIN, and returns its address.
func rustServer(t testing.TB, carrier string) string {
	command := os.Getenv("BREEZEWAY_BIN")
	if command == "" {
		t.Skip("SKIPPED: BREEZEWAY_BIN does not name the command breezeway")
	}
	_, address := start(t, command, carrier)
	return address
}

// echoes implements the handler of `breezeway serve`, as far as tests need it.
func echoes(_ context.Context, call *breezeway.Call) error {
	if call.Method() == echo {
		return call.Echo()
	}
	return &breezeway.CallError{Code: breezeway.CodeNoSuchMethod}
}

// quiet keeps servers from logging.
var quiet = breezeway.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))

// goServer serves in this process, and returns the address.
func goServer(t testing.TB, carrier string, handler breezeway.Handler,
	streams breezeway.StreamHandler, opts ...breezeway.ServerOption) string {
	server, err := breezeway.Listen(addressOf(t, carrier), handler,
		serves(append(opts, breezeway.WithStreamHandler(streams), quiet)...)...)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		_ = server.Close()
		select {
		case err := <-served:
			if !errors.Is(err, breezeway.ErrServerClosed) {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the server does not end")
		}
	})
	return server.Addresses()[0].String()
}

func dial(t testing.TB, address string, opts ...breezeway.DialOption) *breezeway.Session {
	conn, err := breezeway.Dial(context.Background(), address,
		dials(opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// within returns a context that bounds a test's waits.
func within(t testing.TB, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func pattern(n int, seed byte) []byte {
	bytes := make([]byte, n)
	for i := range bytes {
		bytes[i] = byte(i*7+i>>8) + seed
	}
	return bytes
}

// servers holds the servers of the matrix.
var servers = map[string]func(t testing.TB, carrier string) string{
	"go":   func(t testing.TB, carrier string) string { return goServer(t, carrier, echoes, nil) },
	"rust": func(t testing.TB, carrier string) string { return rustServer(t, carrier) },
}

func onEveryServer(t *testing.T, test func(t *testing.T, address string)) {
	for name, start := range servers {
		for _, carrier := range carriers {
			t.Run(fmt.Sprintf("%s over %s", name, carrier),
				func(t *testing.T) { test(t, start(t, carrier)) })
		}
	}
}

func TestEchoesOfAllSizesComeBackAsTheyWereSent(t *testing.T) {
	onEveryServer(t, func(t *testing.T, address string) {
		conn := dial(t, address)
		ctx := within(t, time.Minute)
		sizes := []int{0, 1, 7, 8, 39, 40, 41, 103, 104, 105, 128, 1000, 4096, 65_537, 1 << 20,
			5 << 20,
			63 << 20, 64 << 20, 3}
		if testing.Short() {
			sizes = sizes[:15]
		}
		for i, size := range sizes {
			sent := pattern(size, byte(i))
			reply, err := conn.Call(ctx, echo, sent)
			if err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			if !bytes.Equal(reply.Bytes(), sent) {
				t.Fatalf("%d bytes came back otherwise", size)
			}
			reply.Release()
		}
		if _, err := conn.Call(ctx, echo, make([]byte, 64<<20+1)); !errors.As(
			err, new(*breezeway.TooLargeError)) {
			t.Fatalf("more than the cap: %v", err)
		}
		var failure *breezeway.CallError
		if _, err := conn.Call(ctx, 99, nil); !errors.As(err, &failure) ||
			failure.Code != breezeway.CodeNoSuchMethod {
			t.Fatalf("no such method: %v", err)
		}
	})
}

func TestManyGoroutinesShareASession(t *testing.T) {
	onEveryServer(t, func(t *testing.T, address string) {
		conn := dial(t, address)
		ctx := within(t, time.Minute)
		var all sync.WaitGroup
		for g := 0; g < 200; g++ {
			all.Add(1)
			go func() {
				defer all.Done()
				for i := 0; i < 50; i++ {
					sent := pattern(8+(g*i)%3000, byte(g))
					reply, err := conn.Call(ctx, echo, sent)
					if err != nil {
						t.Errorf("goroutine %d: %v", g, err)
						return
					}
					if !bytes.Equal(reply.Bytes(), sent) {
						t.Errorf("goroutine %d got another's reply", g)
					}
					reply.Release()
				}
			}()
		}
		all.Wait()
	})
}
