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
		server := &breezeway.Server{Streams: func(stream *breezeway.Stream) {
			ctx := stream.Context()
			close(opened)
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
			}
			ended <- ctx.Err()
		}}
		address := addressOf(t, carrier)
		if err := server.Listen(address, certified...); err != nil {
			t.Fatal(err)
		}
		address = server.Addresses()[0].String()
		go server.Serve()
		defer server.Close()
		c, err := breezeway.Dial(context.Background(), address, certified...)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
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

func TestStreamContextEndsWithResetBehindUnreadMessages(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		opened, ended := make(chan struct{}), make(chan error, 1)
		conn := dial(t, goServer(t, carrier, echoes, func(stream *breezeway.Stream) {
			close(opened)
			<-stream.Context().Done()
			m, err := stream.Recv(stream.Context()) // It is kept.
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
