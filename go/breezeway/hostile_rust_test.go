package breezeway_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// hostileSessions is the number of hostile peers in each of the tests below.
var hostileSessions = flag.Int("hostile-sessions", 300, "sessions with hostile peers in Rust")

// hostileSeed repeats a run, as far as two processes can repeat one.
var hostileSeed = flag.Int64("hostile-seed", 0, "seed of hostile peers; 0: by the clock")

func seed(t *testing.T) int64 {
	if *hostileSeed == 0 {
		*hostileSeed = time.Now().UnixNano()
	}
	t.Logf("-hostile-seed %d", *hostileSeed)
	return *hostileSeed
}

// descriptors returns the number of open descriptors of a process.
func descriptors(t testing.TB, pid int) int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// mappings returns the number of memory segments that a process has mapped.
func mappings(t testing.TB, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "memfd:")
}

// settles waits until a process has no more descriptors and mappings than before.
func settles(t testing.TB, pid, fds, maps int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC() // This releases unreachable messages.
		nowFDs, nowMaps := descriptors(t, pid), mappings(t, pid)
		if nowFDs <= fds && nowMaps <= maps {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d descriptors and %d mappings, where there were %d and %d", nowFDs, nowMaps,
				fds,
				maps)
		}
	}
}

// ofSize is the method of a reply with a requested length. Hostile clients mostly call it and echo.
const ofSize = 2

// answer serves hostile clients.
func answer(_ context.Context, call *breezeway.Call) error {
	switch call.Method() {
	case echo:
		return call.Echo()
	case ofSize:
		return call.Reply(make([]byte, min(firstWord(call.Request().Bytes()), 1<<20)))
	}
	return &breezeway.CallError{Code: breezeway.CodeNoSuchMethod}
}

func TestAServerOutlivesHostileClientsInRustAndServesOthers(t *testing.T) {
	seed := seed(t)
	policies := []breezeway.WaitPolicy{breezeway.Adaptive, breezeway.Park, breezeway.Busy}
	for i, policy := range policies {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			s := &service{gate: make(chan struct{}), left: make(chan error, 1)}
			var log lockedBuffer
			logger := slog.New(slog.NewTextHandler(&log,
				&slog.HandlerOptions{Level: slog.LevelError}))
			var err error
			s.server, err = breezeway.Listen(addressOf(t, "shm"), answer,
				breezeway.WithStreamHandler(s.stream), breezeway.WithLogger(logger),
				breezeway.WithWaitPolicy(policy), breezeway.WithReplyTimeout(10*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.server.Serve() }()
			address := s.server.Addresses()[0]
			fds, maps := descriptors(t, os.Getpid()), mappings(t, os.Getpid())
			honest := dial(t, address.String())
			if err := bounced(within(t, time.Minute), honest, 10); err != nil {
				t.Fatal(err)
			}
			attack := interop(t, "attack", address.Path, strconv.FormatInt(seed+int64(i), 10),
				strconv.Itoa(*hostileSessions/len(policies)))
			attack.Stderr = os.Stderr
			if err := attack.Start(); err != nil {
				t.Fatal(err)
			}
			attacked := make(chan error, 1)
			go func() { attacked <- attack.Wait() }()
			calls, slowest := 0, time.Duration(0)
			for over := false; !over; {
				select {
				case err := <-attacked:
					over = true
					if err != nil {
						t.Error("the attack itself failed: ", err)
					}
				default:
					began := time.Now()
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
					sent := pattern(calls*53%90_000, byte(calls))
					if err := echoed(ctx, honest, sent); err != nil {
						t.Error("the honest client: ", err)
						_ = attack.Process.Kill()
					}
					cancel()
					calls++
					slowest = max(slowest, time.Since(began))
				}
			}
			t.Logf("%d honest calls meanwhile, the slowest in %v", calls, slowest)
			_ = honest.Close()
			settles(t, os.Getpid(), fds, maps)
			_ = s.server.Close()
			if err := <-served; !errors.Is(err, breezeway.ErrServerClosed) {
				t.Error(err)
			}
			if text := log.String(); text != "" {
				t.Errorf("the server has logged errors:\n%s", text)
			}
		})
	}
}

// A lockedBuffer is a log for handlers of streams, which may outlive Serve.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(bytes []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(bytes)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestAClientOutlivesHostileServersInRust(t *testing.T) {
	seed := seed(t)
	path := filepath.Join(t.TempDir(), "s")
	ambush := interop(t, "ambush", path, strconv.FormatInt(seed, 10),
		strconv.Itoa(*hostileSessions))
	address := strings.TrimPrefix(begin(t, ambush), "listening on ")
	fds, maps := descriptors(t, os.Getpid()), mappings(t, os.Getpid())
	random := rand.New(rand.NewSource(seed))
	replies := 0
	for range *hostileSessions {
		policy := breezeway.WaitPolicy(random.Intn(3))
		conn, err := breezeway.Dial(context.Background(), address, breezeway.WithWaitPolicy(policy),
			breezeway.WithHandshakeTimeout(20*time.Second),
			breezeway.WithCallTimeout(5*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		replies += visit(conn, random)
		_ = conn.Close()
	}
	if replies == 0 {
		t.Error("the attack never let a call through: it shows little")
	}
	t.Logf("%d replies", replies)
	settles(t, os.Getpid(), fds, maps)
}

// visit runs an honest client until its session ends or it has made enough calls. It accepts any
// error, but not a panic or a hang.
func visit(conn *breezeway.Session, random *rand.Rand) (replies int) {
	sizes := []int{0, 8, 100, 300, 5_000, 80_000}
	for i := 0; i < 60 && conn.Err() == nil; i++ {
		request := bytes.Repeat([]byte{7}, sizes[random.Intn(len(sizes))])
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		switch random.Intn(8) {
		case 0:
			_ = conn.Post(ctx, echo, request)
		case 1:
			if stream, err := conn.Open(ctx, bounceStream); err == nil {
				_ = stream.Send(ctx, request)
				if m, err := stream.Recv(ctx); err == nil {
					_, _ = m.WriteTo(io.Discard)
					m.Release()
				}
				_ = stream.Close()
			}
		default:
			if reply, err := conn.Call(ctx, echo, request); err == nil {
				_, _ = reply.WriteTo(io.Discard)
				reply.Release()
				replies++
			}
		}
		cancel()
	}
	return replies
}
