package breezeway_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func TestParkedGoroutinesAreWoken(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn := dial(t, goServer(t, carrier, echoes, nil, breezeway.WithWaitPolicy(breezeway.Park)),
			breezeway.WithWaitPolicy(breezeway.Park))
		ctx := within(t, time.Minute)
		for i := 0; i < 20_000; i++ {
			if _, err := conn.Call(ctx, echo, []byte("wake up")); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
		}
	})
}

func TestACallEndsWithItsContextAndTheSessionGoesOn(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		proceed := make(chan struct{})
		conn := dial(t, goServer(t, carrier, func(_ context.Context, call *breezeway.Call) error {
			if call.Method() == 1 {
				<-proceed
			}
			return call.Echo()
		}, nil))
		ctx := within(t, time.Minute)
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		if _, err := conn.Call(short, 1, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a deadline that passed: %v", err)
		}
		cancelled, cancel := context.WithCancel(ctx)
		time.AfterFunc(10*time.Millisecond, cancel)
		_, err := conn.Call(cancelled, 1, make([]byte, 5000))
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("a context that was cancelled: %v", err)
		}
		close(proceed)
		reply, err := conn.Call(ctx, 0, []byte("on"))
		if err != nil || string(reply.Bytes()) != "on" {
			t.Fatalf("afterwards: %v", err)
		}
	})
}

func TestAnOffloadedHandlerLearnsThatItsCallWasCancelled(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		ended := make(chan error, 1)
		conn := dial(t, goServer(t, carrier, func(ctx context.Context, call *breezeway.Call) error {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return ctx.Err()
		}, nil, breezeway.WithOffload(4)))
		ctx, cancel := context.WithCancel(within(t, time.Minute))
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := conn.Call(ctx, 0, nil); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			var cause *breezeway.CallError
			if !errors.As(err, &cause) || cause.Code != breezeway.CodeCancelled {
				t.Fatalf("the handler's context ended with %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the handler does not learn it")
		}
	})
}

func TestAHandlerThatPanicsFailsItsCallOnly(t *testing.T) {
	conn := dial(t, goServer(t, "shm", func(_ context.Context, call *breezeway.Call) error {
		if call.Method() == 1 {
			panic("on purpose")
		}
		return call.Echo()
	}, nil))
	var failure *breezeway.CallError
	if _, err := conn.Call(within(t, time.Minute), 1, nil); !errors.As(err, &failure) ||
		failure.Code != breezeway.CodePanicked {
		t.Fatal(err)
	}
	if _, err := conn.Call(within(t, time.Minute), 0, nil); err != nil {
		t.Fatal(err)
	}
}

func TestAServerThatIsKilledIsNoticedAtOnce(t *testing.T) {
	for name, command := range commands(t) {
		for _, carrier := range carriers {
			t.Run(name+" over "+carrier, func(t *testing.T) {
				server, address := start(t, command, carrier)
				conn := dial(t, address)
				_, err := conn.Call(within(t, time.Minute), echo, make([]byte, 10_000))
				if err != nil {
					t.Fatal(err)
				}
				// The server is stopped first, so that the call is in flight when it dies.
				suspend(t, server)
				failed := make(chan error, 1)
				go func() {
					_, err := conn.Call(context.Background(), echo, make([]byte, 10_000))
					failed <- err
				}()
				for ctx := within(t, 20*time.Second); conn.Counters().EntriesPublished < 2; {
					if time.Sleep(time.Millisecond); ctx.Err() != nil {
						t.Fatal("the call is not sent")
					}
				}
				began := time.Now()
				_ = server.Process.Kill()
				select {
				case err := <-failed:
					if !errors.Is(err, breezeway.ErrPeerDied) {
						t.Fatalf("the call ended with %v", err)
					}
					t.Logf("noticed after %v", time.Since(began))
				case <-time.After(10 * time.Second):
					t.Fatal("the call hangs")
				}
			})
		}
	}
}

func TestAServerThatStopsSaysSo(t *testing.T) {
	for name, command := range commands(t) {
		t.Run(name, func(t *testing.T) {
			server, address := start(t, command, "shm")
			conn := dial(t, address)
			if _, err := conn.Call(within(t, time.Minute), echo, nil); err != nil {
				t.Fatal(err)
			}
			if err := server.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			_ = server.Wait()
			if _, err := conn.Call(within(t, time.Minute), echo, nil); !errors.Is(
				err, breezeway.ErrPeerClosed) {
				t.Fatalf("a call to a server that has stopped: %v", err)
			}
			where, _ := breezeway.ParseAddress(address)
			if _, err := os.Lstat(where.Path); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("the socket file is left: %v", err)
			}
		})
	}
}

func TestADrainingServerServesWhatIsOpenAndTakesNothingNew(t *testing.T) {
	server, err := breezeway.Listen(addressOf(t, "shm"), echoes,
		breezeway.WithStreamHandler(bounce))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	defer server.Close()
	conn := dial(t, server.Addresses()[0].String())
	ctx := within(t, time.Minute)
	stream, err := conn.Open(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	drained := make(chan error, 1)
	go func() { drained <- server.Shutdown(ctx) }()
	for { // Until the client has read that the server goes away.
		if err := stream.Send(ctx, []byte("still open")); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Call(ctx, echo, nil); errors.Is(err, breezeway.ErrGoingAway) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	_ = conn.Close()
	if err := <-drained; err != nil {
		t.Fatal(err)
	}
	if err := <-served; !errors.Is(err, breezeway.ErrServerClosed) {
		t.Fatal(err)
	}
}

func TestAClientThatKeepsItsRepliesGetsAnErrorAndHarmsNobody(t *testing.T) {
	for name, begin := range servers {
		t.Run(name, func(t *testing.T) {
			address := begin(t, "shm")
			conn := dial(t, address, breezeway.WithCap(1<<20))
			var kept []breezeway.Message
			var failure *breezeway.CallError
			for {
				reply, err := conn.Call(within(t, time.Minute), echo, make([]byte, 100_000))
				if err != nil {
					if !errors.As(err, &failure) || failure.Code != breezeway.CodeNoMemory {
						t.Fatal(err)
					}
					break
				}
				if kept = append(kept, reply); len(kept) > 20 {
					t.Fatal("more than the cap is lent")
				}
			}
			if _, err := dial(t, address).Call(
				within(t, time.Minute), echo, make([]byte, 100_000)); err != nil {
				t.Fatalf("another session: %v", err)
			}
			for i := range kept {
				kept[i].Release()
			}
			_, err := conn.Call(within(t, time.Minute), echo, make([]byte, 100_000))
			if err != nil {
				t.Fatalf("after all were released: %v", err)
			}
		})
	}
}

func TestReleasedMessageCannotBeRead(t *testing.T) {
	conn := dial(t, goServer(t, "shm", echoes, nil))
	reply, err := conn.Call(within(t, time.Minute), echo, make([]byte, 1000))
	if err != nil {
		t.Fatal(err)
	}
	copied := reply
	reply.Release()
	copied.Release()
	if _, err := copied.ReadAt(make([]byte, 10), 0); !errors.Is(err, breezeway.ErrReleased) {
		t.Fatalf("a read after the release: %v", err)
	}
}

func TestAReplyOutlivesItsSession(t *testing.T) {
	conn := dial(t, goServer(t, "shm", echoes, nil))
	sent := pattern(100_000, 3)
	reply, err := conn.Call(within(t, time.Minute), echo, sent)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if string(reply.Bytes()) != string(sent) {
		t.Fatal("the reply changed with the session's end")
	}
	reply.Release()
	_, err = conn.Call(within(t, time.Minute), echo, nil)
	if !errors.Is(err, breezeway.ErrClosed) {
		t.Fatalf("a call on a closed session: %v", err)
	}
}

func TestAProgramThatIsStartedInheritsNothingOfASession(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn := dial(t, goServer(t, carrier, echoes, nil))
		reply, err := conn.Call(within(t, time.Minute), echo, make([]byte, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Release()
		open, err := exec.Command("ls", "-l", "/proc/self/fd").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"memfd:", "socket:"} {
			if strings.Contains(string(open), kind) {
				t.Errorf("it has\n%s", open)
			}
		}
		if err := conn.Err(); err != nil {
			t.Error(err)
		}
	})
}
