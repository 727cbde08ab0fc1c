package breezewaykitex_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"testing"
	"time"

	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/streaming"
	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/room"
	talked "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/room/room"
)

// early is a hall whose handlers end before their clients.
type early struct{ hall }

func (*early) Tell(ctx context.Context, stream room.Room_tellServer) error {
	if _, err := stream.Recv(ctx); err != nil {
		return err
	}
	return remote.NewTransErrorWithMsg(77, "no more")
}

func (*early) Talk(ctx context.Context, stream room.Room_talkServer) error {
	if _, err := stream.Recv(ctx); err != nil {
		return err
	}
	for i := range 20 {
		if err := stream.Send(ctx, &room.Line{Text: fmt.Sprint(i)}); err != nil {
			return err
		}
	}
	return stream.SetTrailer(streaming.Trailer{"name": "value"})
}

func (e *early) Listen(ctx context.Context, _ *room.Line, _ room.Room_listenServer) error {
	e.ended <- nil
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	e.ended <- ctx.Err()
	return ctx.Err()
}

func withEarly(t *testing.T, test func(t *testing.T, c talked.Client, service *early),
	opts ...breezeway.DialOption) {
	for _, carrier := range []string{"shm:", "unix:"} {
		t.Run(carrier[:len(carrier)-1], func(t *testing.T) {
			address, service := carrier+t.TempDir()+"/room", &early{hall{make(chan error, 2)}}
			t.Cleanup(stopping(t, start(t, address, func(opts ...server.Option) server.Server {
				return talked.NewServer(service, opts...)
			})))
			c, err := talked.NewClient("Room", breezewaykitex.Client(address, opts...))
			if err != nil {
				t.Fatal(err)
			}
			test(t, c, service)
		})
	}
}

func TestOutcomeArrivesWhileClientSends(t *testing.T) {
	withEarly(t, func(t *testing.T, c talked.Client, _ *early) {
		for range 5 {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			stream, err := c.Tell(ctx)
			for i := 0; i < 200 && err == nil; i++ {
				err = stream.Send(ctx, &room.Line{Text: "x"})
			}
			if err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			_, err = stream.CloseAndRecv(ctx)
			var exception *remote.TransError
			if !errors.As(err, &exception) || exception.TypeID() != 77 {
				t.Errorf("the stream ends with %v", err)
			}
		}
	})
}

func TestMessagesArriveBehindHandlersEnd(t *testing.T) {
	withEarly(t, func(t *testing.T, c talked.Client, _ *early) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		stream, err := c.Talk(ctx)
		for i := 0; i < 30 && err == nil; i++ {
			err = stream.Send(ctx, &room.Line{Text: "x"})
		}
		lines := -1
		for err = nil; err == nil; lines++ {
			_, err = stream.Recv(ctx)
		}
		if lines != 20 || !errors.Is(err, io.EOF) {
			t.Errorf("%d lines, %v", lines, err)
		}
	})
}

// TestClientThatGoesOnIsResetBehindTheEnd has a client neither send nor end behind the end of its
// stream's handler.
func TestClientThatGoesOnIsResetBehindTheEnd(t *testing.T) {
	address := "shm:" + t.TempDir() + "/room"
	t.Cleanup(stopping(t, start(t, address, func(opts ...server.Option) server.Server {
		return talked.NewServer(&early{}, opts...)
	})))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := breezeway.Dial(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tag := fnv.New32a()
	_, _ = tag.Write([]byte("Room.talk"))
	stream, err := conn.Open(ctx, tag.Sum32())
	if err == nil {
		err = stream.Send(ctx, []byte{0}) // A line without fields.
	}
	for err == nil {
		_, err = stream.Recv(ctx)
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	go func() { _, _ = conn.AcceptStream(ctx) }() // It reads the session.
	select {
	case <-stream.Context().Done():
	case <-ctx.Done():
		t.Error("the stream goes on")
	}
}

func TestStreamHandlersContextEndsWithClient(t *testing.T) {
	withEarly(t, func(t *testing.T, c talked.Client, service *early) {
		ctx, cancel := context.WithCancel(context.Background())
		if _, err := c.Listen(ctx, &room.Line{}); err != nil {
			t.Fatal(err)
		}
		<-service.ended
		cancel()
		if err := <-service.ended; err == nil {
			t.Error("the context goes on for 10 s")
		}
	})
}

func TestTrailerBeyondClientsLimitSparesStream(t *testing.T) {
	talk := func(c talked.Client) error {
		ctx := context.Background()
		stream, err := c.Talk(ctx)
		if err == nil {
			err = stream.Send(ctx, &room.Line{})
		}
		for err == nil {
			_, err = stream.Recv(ctx)
		}
		return err
	}
	withEarly(t, func(t *testing.T, c talked.Client, _ *early) {
		if err := talk(c); !errors.Is(err, io.EOF) {
			t.Errorf("without metadata: %v", err)
		}
	}, breezeway.WithMaxMetadata(0))
	withEarly(t, func(t *testing.T, c talked.Client, _ *early) {
		var exception *remote.TransError
		if err := talk(c); !errors.As(err, &exception) {
			t.Errorf("with a block beyond the limit: %v", err)
		}
	}, breezeway.WithMaxMetadata(8))
}
