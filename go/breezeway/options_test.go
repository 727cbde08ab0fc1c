package breezeway_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func TestOneUserHasSoManySessionsAndNoMore(t *testing.T) {
	address := goServer(t, "shm", echoes, nil, breezeway.WithMaxSessionsOfUser(2))
	ctx := within(t, time.Minute)
	first, _ := dial(t, address), dial(t, address)
	var refused *breezeway.RefusedError
	if _, err := breezeway.Dial(ctx, address); !errors.As(err, &refused) ||
		!strings.Contains(refused.Reason, "MaxSessionsOfUser") {
		t.Fatalf("a third session: %v", err)
	}
	_ = first.Close()
	for { // Until the server has noticed.
		conn, err := breezeway.Dial(ctx, address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
	}
}

func TestBothSidesLearnWhatMessagesMean(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		means := make(chan uint16, 1)
		conn := dial(t, goServer(t, carrier, func(_ context.Context, call *breezeway.Call) error {
			means <- call.Service()
			return call.Echo()
		}, nil, breezeway.WithService(1)), breezeway.WithService(77))
		if _, err := conn.Call(within(t, time.Minute), echo, nil); err != nil {
			t.Fatal(err)
		}
		if here, there := conn.Service(), <-means; here != 1 || there != 77 {
			t.Fatalf("the server's mean %d, the client's %d", here, there)
		}
	})
}

func TestValuesOutOfRangeAreRefusedByTheirNames(t *testing.T) {
	for name, option := range map[string]breezeway.ServerOption{
		"WithWaitPolicy":        breezeway.WithWaitPolicy(7),
		"WithCap":               breezeway.WithCap(0),
		"WithPrefault":          breezeway.WithPrefault(1<<40 + 1),
		"WithRingCapacity":      breezeway.WithRingCapacity(12),
		"WithHandshakeTimeout":  breezeway.WithHandshakeTimeout(0),
		"WithStreamWindow":      breezeway.WithStreamWindow(1, 0),
		"WithMaxStreams":        breezeway.WithMaxStreams(65536),
		"WithMaxMetadata":       breezeway.WithMaxMetadata(-1),
		"WithTrustedPeer":       breezeway.WithTrustedPeer(1<<40 + 1),
		"WithMaxSessions":       breezeway.WithMaxSessions(0),
		"WithSocketMode":        breezeway.WithSocketMode(0o1000),
		"WithMaxSessionsOfUser": breezeway.WithMaxSessionsOfUser(1_000_001),
		"WithOffload":           breezeway.WithOffload(-1),
		"WithReplyTimeout":      breezeway.WithReplyTimeout(-1),
		"WithDrainTimeout":      breezeway.WithDrainTimeout(time.Hour + 1),
	} {
		_, err := breezeway.Listen("shm:/nowhere/s", echoes, option)
		if err == nil || !strings.Contains(err.Error(), "option "+name+" = ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMemoryThatIsReadyIsThatOfTheFirstMessages(t *testing.T) {
	const ready = 256 << 10
	serve := func(option breezeway.Option) string {
		return goServer(t, "shm", echoes, nil, option)
	}
	ask := breezeway.WithPrefault(ready)
	conn := dial(t, serve(ask), ask)
	for range 3 {
		if counts := conn.Counters(); counts.PayloadSegmentBytes != ready ||
			counts.SegmentsAddedSoFar != 1 {
			t.Fatalf("%+v", counts)
		}
		reply, err := conn.Call(within(t, time.Minute), echo, make([]byte, ready))
		if err != nil {
			t.Fatal(err)
		}
		reply.Release()
	}
	for own, conn := range map[uint64]*breezeway.Session{
		ready / 2: dial(t, serve(breezeway.WithCap(ready/2)), ask), 0: dial(t, serve(ask)),
		64 << 10: dial(t, serve(ask), breezeway.WithPrefault(1)),
	} {
		if counts := conn.Counters(); counts.PayloadSegmentBytes != own {
			t.Fatalf("%d: %+v", own, counts)
		}
	}
}

func TestClientsHoldNoMoreMemoryThanTheServerAllows(t *testing.T) {
	// A control segment has less than 64 KiB, and so has the first segment of replies.
	for name, option := range map[string]breezeway.ServerOption{
		"WithMaxMemory":       breezeway.WithMaxMemory(200 << 10),
		"WithMaxMemoryOfUser": breezeway.WithMaxMemoryOfUser(200 << 10)} {
		t.Run(name, func(t *testing.T) {
			address := goServer(t, "shm", echoes, nil, option)
			ctx := within(t, time.Minute)
			conn := dial(t, address)
			call := func(size int) error {
				reply, err := conn.Call(ctx, echo, make([]byte, size))
				reply.Release()
				return err
			}
			if err := call(10_000); err != nil {
				t.Fatal(err)
			}
			var failed *breezeway.CallError
			if err := call(1 << 20); !errors.As(err, &failed) ||
				failed.Code != breezeway.CodeNoMemory ||
				!strings.Contains(failed.Reason, "option "+name+" allows") {
				t.Fatalf("a reply that needs more: %v", err)
			}
			if err := call(10_000); err != nil {
				t.Fatalf("the session does not go on: %v", err)
			}
			var refused *breezeway.RefusedError
			for sessions := 0; ; sessions++ {
				more, err := breezeway.Dial(ctx, address)
				if err == nil && sessions < 20 {
					defer more.Close()
					continue
				}
				if !errors.As(err, &refused) || !strings.Contains(refused.Reason, name) {
					t.Fatalf("session %d: %v", sessions, err)
				}
				break
			}
			_ = conn.Close()
			for { // Until the kernel has reported that its memory is gone.
				more, err := breezeway.Dial(ctx, address)
				if err == nil {
					_ = more.Close()
					return
				}
				if !errors.As(err, &refused) {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestACallWaitsForAServerThatComesAndNoLongerThanItMay(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		address := goServerThatEnds(t, carrier)
		ctx := within(t, time.Minute)
		client := breezeway.NewClient(address,
			dials(breezeway.WithWaitForServer(time.Hour))...)
		defer client.Close()
		served := make(chan error, 1)
		go func() {
			reply, err := client.Call(ctx, echo, []byte("hello"))
			reply.Release()
			served <- err
		}()
		server, err := breezeway.Listen(address, echoes, serves()...)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve() }()
		defer server.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	impatient := breezeway.NewClient("unix:/nowhere/s",
		breezeway.WithWaitForServer(20*time.Millisecond))
	_, err := impatient.Call(within(t, time.Minute), echo, nil)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server that does not come: %v", err)
	}
	denied := breezeway.NewClient(goServer(t, "unix", echoes, nil,
		breezeway.WithAuthorize(func(breezeway.Peer) error { return errors.New("not you") })),
		breezeway.WithWaitForServer(time.Hour))
	if _, err := denied.Call(within(t, time.Minute), echo, nil); err == nil ||
		!strings.Contains(err.Error(), "not you") {
		t.Errorf("a server that serves others: %v", err)
	}
}

// goServerThatEnds returns the address of a server that has ended.
func goServerThatEnds(t *testing.T, carrier string) string {
	server, err := breezeway.Listen(addressOf(t, carrier), echoes, serves()...)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	return server.Addresses()[0].String()
}

func TestAClientReturnsToTheFirstAddressWhenItIsServedAgain(t *testing.T) {
	first := goServerThatEnds(t, "unix")
	second := goServer(t, "unix", echoes, nil)
	ctx := within(t, time.Minute)
	client := breezeway.NewClient(first+","+second, breezeway.WithReturnToFirst(time.Millisecond))
	defer client.Close()
	at := func() string {
		if _, err := client.Call(ctx, echo, nil); err != nil {
			t.Fatal(err)
		}
		conn, err := client.Session(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return conn.Address().String()
	}
	for range 20 {
		if now := at(); now != second {
			t.Fatalf("it calls %s, where nobody is", now)
		}
	}
	server, err := breezeway.Listen(first, echoes)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	for at() != first {
		if ctx.Err() != nil {
			t.Fatal("it stays")
		}
	}
	_ = server.Close()
	for range 2 { // The first call may have been on its way as the server ended.
		_, err = client.Call(ctx, echo, nil)
	}
	if now := at(); err != nil || now != second {
		t.Errorf("without the first server it calls %s, %v", now, err)
	}
}
