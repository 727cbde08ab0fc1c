package breezeway_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func TestAMessageMayBeShorterThanWhatWasReserved(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		servers := map[string]func() string{
			"go": func() string {
				return goServer(t, carrier, func(_ context.Context, call *breezeway.Call) error {
					reply, err := call.Reserve(call.Request().Len() + 50_000)
					if err == nil {
						_, err = call.Request().WriteTo(reply)
					}
					if err != nil {
						return err
					}
					reply.Truncate(reply.Written())
					return call.ReplyReserved(reply)
				}, nil, breezeway.WithCap(256<<10))
			},
		}
		if command := commands(t)["rust"]; command != "" && carrier != "tls" {
			servers["rust"] = func() string {
				_, address := start(t, command, carrier)
				return address
			}
		}
		for name, serve := range servers {
			conn, ctx := dial(t, serve(), breezeway.WithCap(256<<10)), within(t, time.Minute)
			// The sum exceeds the memory, unless all of each reservation is freed.
			for i := range 100 {
				for _, size := range []int{0, 1, 104, 105, 4096, 60_000} {
					request, err := conn.Reserve(ctx, size+50_000)
					if err != nil {
						t.Fatal(err)
					}
					sent := pattern(size, byte(i))
					if n, err := request.Write(sent); n != size || err != nil {
						t.Fatal(n, err)
					}
					request.Truncate(size + 60_000) // It is shorter already.
					request.Truncate(request.Written())
					if request.Len() != size {
						t.Fatalf("%d bytes are left of %d", request.Len(), size)
					}
					reply, err := conn.CallReserved(ctx, echo, request)
					if err != nil || !bytes.Equal(reply.Bytes(), sent) {
						t.Fatalf("%s, %d bytes: %d came back, %v", name, size, reply.Len(), err)
					}
					reply.Release()
				}
			}
		}
	})
}

func TestReservedOneWayMessagesArriveInTheirOrder(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		const count = 100
		arrived := make(chan []byte, count)
		address := goServer(t, carrier, func(_ context.Context, call *breezeway.Call) error {
			arrived <- call.Request().Bytes()
			return nil
		}, nil, breezeway.WithCap(1<<20))
		conn, ctx := dial(t, address, breezeway.WithCap(1<<20)), within(t, time.Minute)
		for i := range count {
			for _, size := range []int{0, 104, 105, 60_000} {
				message, err := conn.Reserve(ctx, size)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := message.Write(pattern(size, byte(i))); err != nil {
					t.Fatal(err)
				}
				if err := conn.PostReserved(ctx, echo, message); err != nil {
					t.Fatal(err)
				}
				if err := conn.PostReserved(ctx, echo, message); err != breezeway.ErrSent {
					t.Fatalf("a message that was sent is sent again: %v", err)
				}
				if got := <-arrived; !bytes.Equal(got, pattern(size, byte(i))) {
					t.Fatalf("%d bytes came of %d", len(got), size)
				}
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		kept, err := conn.Reserve(ctx, 200)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := conn.PostReserved(ctx, echo, kept); err == nil {
			t.Error("it was sent past the end of its context")
		}
		if _, err := kept.WriteAt([]byte("x"), 0); err != nil {
			t.Errorf("it cannot be sent again: %v", err)
		}
		kept.Abandon()
	})
}
