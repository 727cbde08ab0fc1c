package breezeway_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func TestStreamContextEndsWithPeersReset(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		opened, ended := make(chan struct{}), make(chan error, 1)
		waits := func(ctx context.Context, _ *breezeway.Stream) {
			close(opened)
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
			}
			ended <- ctx.Err()
		}
		c := dial(t, goServer(t, carrier, nil, waits))
		stream, err := c.Open(context.Background(), 1)
		if err != nil {
			t.Fatal(err)
		}
		<-opened
		stream.Reset(breezeway.CodeCancelled)
		if err := <-ended; err == nil {
			t.Error("the context goes on for 10 s")
		}
	})
}

func TestStreamContextEndsWithOwnReset(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		waits := func(ctx context.Context, _ *breezeway.Stream) { <-ctx.Done() }
		conn := dial(t, goServer(t, carrier, nil, waits))
		for _, isUsed := range []bool{false, true} {
			stream, err := conn.Open(context.Background(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if isUsed && stream.Context().Err() != nil {
				t.Error("it has ended early")
			}
			stream.Reset(breezeway.CodeCancelled)
			if stream.Context().Err() == nil {
				t.Errorf("it goes on, used: %v", isUsed)
			}
		}
	})
}

func TestStreamContextEndsWithResetBehindUnreadMessages(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		opened, ended := make(chan struct{}), make(chan error, 1)
		conn := dial(t, goServer(t, carrier, echoes, func(ctx context.Context,
			stream *breezeway.Stream) {
			close(opened)
			<-ctx.Done()
			m, err := stream.Recv(ctx) // It is kept.
			if err == nil && m.Len() != 1 {
				err = errors.New("another message")
			}
			ended <- err
		}))
		stream, err := conn.OpenEntry(within(t, time.Minute), 1, breezeway.Entry{
			Message: [][]byte{{1}}, Last: true})
		if err != nil {
			t.Fatal(err)
		}
		<-opened
		stream.Reset(breezeway.CodeCancelled)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
