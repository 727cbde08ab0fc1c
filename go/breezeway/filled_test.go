package breezeway

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

var errFilling = errors.New("of the function that fills")

// filling returns a function that fills space with copies of a byte.
func filling(with byte) func(space []byte) error {
	return func(space []byte) error {
		for i := range space {
			space[i] = with
		}
		return nil
	}
}

func TestFilledCallsAndRepliesArriveWithMetadata(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		_, address = quietServer(t, address, func(_ context.Context, call *Call) error {
			block, _ := call.Request().Metadata()
			request := call.Request().Bytes()
			return call.ReplyFilled(block, len(request), func(space []byte) error {
				copy(space, request)
				return nil
			})
		}, WithOffload(4))
		client := NewClient(address)
		defer client.Close()
		for _, n := range []int{0, 1, 104, 105, 5000, 1 << 20} {
			for _, metadata := range [][]byte{nil, {}, []byte("some"), make([]byte, 5000)} {
				reply, err := client.CallFilled(contextOf(t), 0, metadata, n, filling(7))
				if err != nil {
					t.Fatal(err)
				}
				block, has := reply.Metadata()
				if got := reply.Bytes(); !bytes.Equal(got, bytes.Repeat([]byte{7}, n)) ||
					has != (metadata != nil) || !bytes.Equal(block, metadata) {
					t.Errorf("of %d bytes with %d of metadata, %d with %d came back", n,
						len(metadata), len(got), len(block))
				}
				reply.Release()
			}
		}
	})
}

func TestFilledCallThatFailsSendsNothing(t *testing.T) {
	const size = 1 << 20
	onBothLinks(t, func(t *testing.T, address string) {
		_, address = quietServer(t, address, func(_ context.Context, call *Call) error {
			err := call.ReplyFilled(nil, size, func([]byte) error { return errFilling })
			if !errors.Is(err, errFilling) {
				t.Errorf("the reply gives %v", err)
			}
			return call.Reply([]byte("instead"))
		}, WithCap(2*size))
		client := NewClient(address, WithCap(2*size))
		defer client.Close()
		ctx := contextOf(t)
		for range 10 { // More than the cap.
			fail := func([]byte) error { return errFilling }
			if _, err := client.CallFilled(ctx, 0, nil, size, fail); !errors.Is(err, errFilling) {
				t.Fatal(err)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				fail := func([]byte) error { panic("of a test") }
				_, _ = client.CallFilled(ctx, 0, nil, size, fail)
			}()
			reply, err := client.CallFilled(ctx, 0, nil, size, filling(1))
			if err != nil || string(reply.Bytes()) != "instead" {
				t.Fatal(err)
			}
			reply.Release()
		}
	})
}

func TestFilledCallBeyondCapFailsAlone(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		_, address = quietServer(t, address, func(_ context.Context,
			call *Call) error {
			return call.Echo()
		},
			WithCap(1<<20))
		client := NewClient(address)
		defer client.Close()
		_, err := client.CallFilled(contextOf(t), 0, nil, 2<<20, filling(1))
		if !errors.As(err, new(*TooLargeError)) {
			t.Error(err)
		}
		if _, err := client.Call(contextOf(t), 0, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestFilledMessagesOfStreamArrive(t *testing.T) {
	onBothLinks(t, func(t *testing.T, address string) {
		server := &Server{streams: func(_ context.Context, stream *Stream) {
			for {
				m, err := stream.Recv(context.Background())
				if err != nil {
					return
				}
				_ = stream.SendMessage(context.Background(), &m)
				m.Release()
			}
		}}
		serveQuietly(t, server, address)
		conn := dialled(t, address)
		stream, err := conn.Open(contextOf(t), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 104, 105, 1 << 20} {
			if err := stream.SendFilled(contextOf(t), n, filling(7)); err != nil {
				t.Fatal(err)
			}
			m, err := stream.Recv(contextOf(t))
			if err != nil || !bytes.Equal(m.Bytes(), bytes.Repeat([]byte{7}, n)) {
				t.Fatalf("of %d bytes, %d came back: %v", n, m.Len(), err)
			}
			m.Release()
		}
	})
}
