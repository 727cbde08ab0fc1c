package kitex_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/streaming"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	breezewaykitex "github.com/breezeway-ipc/breezeway/go/kitex"
	"github.com/breezeway-ipc/breezeway/go/kitex/kitex_gen/room"
	talked "github.com/breezeway-ipc/breezeway/go/kitex/kitex_gen/room/room"
)

func TestGRPCProtocolOfClientHasNoEffect(t *testing.T) {
	withRooms(t, func(t *testing.T, _ talked.Client, _ *hall, address string) {
		ours := breezewaykitex.Client(address)
		for _, protocol := range []transport.Protocol{transport.GRPC, transport.GRPCStreaming,
			transport.GRPC | transport.GRPCStreaming} {
			theirs := client.WithTransportProtocol(protocol)
			for order, options := range [][]client.Option{{ours, theirs}, {theirs, ours}} {
				c, err := talked.NewClient("Room", options...)
				if err != nil {
					t.Fatal(err)
				}
				said, err := c.Say(context.Background(), &room.Line{Text: "x"})
				if err != nil || said.Text != "x" {
					t.Errorf("%v, order %d: a call gives %v, %v", protocol, order, said, err)
				}
				lines, _, err := listen(context.Background(), c, "3")
				if lines != 3 || !errors.Is(err, io.EOF) {
					t.Errorf("%v, order %d: %d lines, %v", protocol, order, lines, err)
				}
			}
		}
	})
}

// opener is a hall that sends a header before its lines.
type opener struct {
	*hall
	sent chan error
}

func (o *opener) Listen(_ context.Context, _ *room.Line, stream room.Room_listenServer) error {
	o.sent <- stream.SendHeader(streaming.Header{"room": "open"})
	return nil
}

func TestSendHeaderFailsAsHeadersTravelLast(t *testing.T) {
	address, service := "unix:"+t.TempDir()+"/room", &opener{new(hall), make(chan error, 1)}
	t.Cleanup(stopping(t, start(t, address, func(opts ...server.Option) server.Server {
		return talked.NewServer(service, opts...)
	})))
	c, err := talked.NewClient("Room", breezewaykitex.Client(address))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := listen(context.Background(), c, ""); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
	if err := <-service.sent; err == nil {
		t.Error("SendHeader returns no error")
	}
}

// finishes is a tracer that notes the ends of streams.
type finishes chan error

func (finishes) Start(ctx context.Context) context.Context { return ctx }

func (f finishes) Finish(ctx context.Context) {
	f <- rpcinfo.GetRPCInfo(ctx).Stats().Error()
}

func TestCancelledStreamIsFinishedForTracers(t *testing.T) {
	withRooms(t, func(t *testing.T, _ talked.Client, _ *hall, address string) {
		finished := make(finishes, 2)
		c, err := talked.NewClient("Room", breezewaykitex.Client(address),
			client.WithTracer(finished))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if _, err := c.Talk(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		select {
		case err := <-finished:
			if err == nil {
				t.Error("the tracer sees no error")
			}
		case <-time.After(20 * time.Second):
			t.Error("the tracer does not see the end")
		}
	})
}
