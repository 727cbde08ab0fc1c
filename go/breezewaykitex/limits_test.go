package breezewaykitex_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/kitex/pkg/endpoint"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/limit"
	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	linked "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/lists/lists"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/room"
	talked "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/room/room"
	listed "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/users/users"
)

// echoed sends a line on a new stream and receives it.
func echoed(ctx context.Context, c talked.Client) (talked.Room_talkClient, error) {
	stream, err := c.Talk(ctx)
	if err == nil {
		err = stream.Send(ctx, &room.Line{From: "me", Text: "x"})
	}
	if err == nil || errors.Is(err, kerrors.ErrOverlimit) {
		_, err = stream.Recv(ctx)
	}
	return stream, err
}

// limitedRoom serves a room within limits of Kitex, and returns a client.
func limitedRoom(t *testing.T, limits limit.Option, more ...server.Option) talked.Client {
	address := "shm:" + t.TempDir() + "/room"
	t.Cleanup(stopping(t, start(t, address, func(opts ...server.Option) server.Server {
		return talked.NewServer(&hall{make(chan error, 1000)},
			append(append(opts, server.WithLimit(&limits)), more...)...)
	})))
	c, err := talked.NewClient("Room", breezewaykitex.Client(address))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStreamBeyondMaxConnectionsFailsAsOverLimit(t *testing.T) {
	c := limitedRoom(t, limit.Option{MaxConnections: 1, MaxQPS: 1_000_000})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	first, err := echoed(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := echoed(ctx, c); !errors.Is(err, kerrors.ErrOverlimit) {
		t.Errorf("the second stream ends with %v", err)
	}
	if err := first.CloseSend(ctx); err != nil {
		t.Fatal(err)
	}
	err = kerrors.ErrOverlimit
	for errors.Is(err, kerrors.ErrOverlimit) { // The server releases a stream behind its end.
		_, err = echoed(ctx, c)
	}
	if err != nil {
		t.Errorf("after the release: %v", err)
	}
}

func TestStreamWhoseMiddlewarePanicsHoldsNoConnection(t *testing.T) {
	var panics atomic.Bool
	panics.Store(true)
	c := limitedRoom(t, limit.Option{MaxConnections: 1, MaxQPS: 1_000_000},
		server.WithMiddleware(func(next endpoint.Endpoint) endpoint.Endpoint {
			return func(ctx context.Context, request, response any) error {
				if panics.Load() {
					panic("of a middleware")
				}
				return next(ctx, request, response)
			}
		}))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := echoed(ctx, c); err == nil || errors.Is(err, kerrors.ErrOverlimit) {
		t.Fatalf("the stream with a panic ends with %v", err)
	}
	panics.Store(false)
	err := error(kerrors.ErrOverlimit)
	for errors.Is(err, kerrors.ErrOverlimit) && ctx.Err() == nil { // It is released soon.
		_, err = echoed(ctx, c)
	}
	if err != nil {
		t.Errorf("the next stream ends with %v", err)
	}
}

func TestStreamBeyondMaxQPSFailsAsOverLimit(t *testing.T) {
	c := limitedRoom(t, limit.Option{MaxConnections: 1_000_000, MaxQPS: 10})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	began, err := 0, error(nil)
	for ; err == nil && began < 1000; began++ {
		_, err = echoed(ctx, c)
	}
	if !errors.Is(err, kerrors.ErrOverlimit) {
		t.Errorf("stream %d ends with %v", began, err)
	}
}

func TestPlainRequestBeyondCapFailsAlone(t *testing.T) {
	const most = 64 << 10
	path := t.TempDir() + "/lists"
	t.Cleanup(stopping(t, start(t, "unix:"+path, func(opts ...server.Option) server.Server {
		return linked.NewServer(new(nodes), opts...)
	}, breezeway.WithCap(most))))
	put := func(length int) []byte {
		const names = "\x0c\x00\x01\x0f\x00\x02\x0b\x00\x00\x00\x01" // a list of one
		head := binary.BigEndian.AppendUint32([]byte(names), uint32(length))
		return putMessage(append(append(head, make([]byte, length)...), 0, 0))
	}
	for framing, frame := range framings {
		if received := answer(t, path, frame(put(most/2))); !bytes.Contains(received,
			[]byte("put")) || bytes.Contains(received, []byte("Cap")) {
			t.Errorf("%s: a request within the cap gets %q", framing, received)
		}
		received := answer(t, path, frame(put(most+1)))
		if len(received) > 0 && !bytes.Contains(received, []byte("Cap")) {
			t.Errorf("%s: a request beyond the cap gets %q", framing, received)
		}
	}
}

func TestWaitForServerBoundsAllTriesOfCall(t *testing.T) {
	const wait = 200 * time.Millisecond
	c, err := listed.NewClient("Users", breezewaykitex.Client("shm:"+t.TempDir()+"/nobody",
		breezeway.WithWaitForServer(wait)))
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"call": func() error {
			_, err := c.Age(context.Background(), "Ada")
			return err
		},
		"oneway": func() error { return c.Seen(context.Background(), "Ada") },
	}
	for name, call := range calls {
		began := time.Now()
		err := call()
		if took := time.Since(began); took < wait || took > 3*wait {
			t.Errorf("%s: it waits for %v", name, took)
		}
		if !errors.Is(err, kerrors.ErrGetConnection) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
