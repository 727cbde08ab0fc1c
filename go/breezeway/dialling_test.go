package breezeway

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// silent returns an address with a listener that sends nothing.
func silent(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return "unix:" + path
}

func TestDialSaysThatItsContextIsDone(t *testing.T) {
	address := silent(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := Dial(ctx, address, WithHandshakeTimeout(time.Hour))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("past the deadline Dial gave %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = Dial(ctx, address, WithHandshakeTimeout(time.Hour))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, Dial gave %v", err)
	}
}

// A bind mount of the socket file keeps the file of the server that ended.
func TestAnUnservedFileNamesTheMountOfItsFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	_ = listener.Close()
	_, err = Dial(context.Background(), "shm:"+path)
	if err == nil || !strings.Contains(err.Error(), "mount its folder") {
		t.Error(err)
	}
}

// TestManyDialWaitersWaitTogether fails if the callers dial one after the other: each would
// dial.
func TestManyDialWaitersWaitTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var dials atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			_ = conn.Close()
		}
	}()
	for name, begin := range map[string]func() (func(context.Context) error, func() error){
		"calls": func() (func(context.Context) error, func() error) {
			client := NewClient("unix:"+path, WithWaitForServer(200*time.Millisecond))
			return func(ctx context.Context) error {
				_, err := client.Call(ctx, 0, nil)
				return err
			}, client.Close
		},
		"connections": func() (func(context.Context) error, func() error) {
			dialer := NewNetDialer("unix:"+path, WithWaitForServer(200*time.Millisecond))
			return func(ctx context.Context) error {
				_, err := dialer.Dial(ctx)
				return err
			}, dialer.Close
		},
	} {
		counts := [2]int64{}
		for i, callers := range []int{1, 10} {
			before := dials.Load()
			do, end := begin()
			var all sync.WaitGroup
			for range callers {
				all.Add(1)
				go func() {
					defer all.Done()
					if err := do(contextOf(t)); !errors.Is(err, errHandshakeClosed) {
						t.Error(err)
					}
				}()
			}
			all.Wait()
			_ = end()
			counts[i] = dials.Load() - before
		}
		if counts[1] > 3*counts[0]+10 {
			t.Errorf("%s: one dials %d times, ten %d times", name, counts[0], counts[1])
		}
	}
}

func TestDialWaiterGetsCloseOfItsClient(t *testing.T) {
	path := "unix:" + filepath.Join(t.TempDir(), "nobody serves here")
	client, dialer := NewClient(path, WithWaitForServer(time.Hour)), NewNetDialer(path,
		WithWaitForServer(time.Hour))
	dials := map[string]struct {
		dial    func(ctx context.Context) error
		sharing *sharing
		close   func() error
	}{
		"a client": {func(ctx context.Context) error {
			_, err := client.Call(ctx, 0, nil)
			return err
		}, &client.sessions, client.Close},
		"a dialer": {func(ctx context.Context) error {
			_, err := dialer.Dial(ctx)
			return err
		}, &dialer.sessions, dialer.Close},
	}
	for name, d := range dials {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			go func() { ended <- d.dial(context.Background()) }()
			eventually(t, "dialling", func() bool {
				d.sharing.mu.Lock()
				defer d.sharing.mu.Unlock()
				return d.sharing.dialing != nil
			})
			_ = d.close()
			if err := soon(t, "the wait's end", ended); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the wait ended with %v", err)
			}
		})
	}
}
