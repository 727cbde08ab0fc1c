package breezewaykitex_test

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/streaming"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/room"
	talked "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/room/room"
	"github.com/breezeway-ipc/breezeway/go/internal/programs"
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

// opener is a hall that sends or sets headers before, between and behind its lines.
type opener struct{ *hall }

func (o *opener) Talk(ctx context.Context, stream room.Room_talkServer) error {
	if err := stream.SendHeader(streaming.Header{"room": "open"}); err != nil {
		return err
	}
	if stream.SendHeader(nil) == nil {
		return errors.New("the header is sent twice")
	}
	return errors.Join(o.hall.Talk(ctx, stream),
		stream.SetHeader(streaming.Header{"late": "header"}),
		stream.SetTrailer(streaming.Trailer{"room": "closed"}))
}

func (o *opener) Listen(ctx context.Context, line *room.Line, stream room.Room_listenServer) error {
	return errors.Join(stream.SetHeader(streaming.Header{"room": "set"}),
		o.hall.Listen(ctx, line, stream))
}

// withOpeners runs a test with an opener over shared memory and a unix socket.
func withOpeners(t *testing.T, test func(t *testing.T, c talked.Client, address string)) {
	for _, carrier := range []string{"shm:", "unix:"} {
		t.Run(carrier[:len(carrier)-1], func(t *testing.T) {
			address, service := carrier+t.TempDir()+"/room", &opener{&hall{make(chan error, 9)}}
			t.Cleanup(stopping(t, start(t, address, func(opts ...server.Option) server.Server {
				return talked.NewServer(service, opts...)
			})))
			c, err := talked.NewClient("Room", breezewaykitex.Client(address))
			if err != nil {
				t.Fatal(err)
			}
			test(t, c, address)
		})
	}
}

func TestSentHeaderArrivesBeforeMessages(t *testing.T) {
	withOpeners(t, func(t *testing.T, c talked.Client, _ string) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		stream, err := c.Talk(ctx)
		if err != nil {
			t.Fatal(err)
		}
		// The handler waits for a message behind its header.
		if header, err := stream.Header(); err != nil || header["room"] != "open" {
			t.Fatalf("%v, %v", header, err)
		}
		if err := stream.Send(ctx, &room.Line{From: "me", Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if line, err := stream.Recv(ctx); err != nil || line.Text != "x" {
			t.Fatalf("%v, %v", line, err)
		}
		if err := stream.CloseSend(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(ctx); !errors.Is(err, io.EOF) {
			t.Errorf("the stream ends with %v", err)
		}
		trailer, err := stream.Trailer()
		if err != nil || trailer["room"] != "closed" || trailer["late"] != "header" {
			t.Errorf("%v, %v", trailer, err)
		}
	})
}

func TestSetHeaderArrivesBeforeMessages(t *testing.T) {
	withOpeners(t, func(t *testing.T, c talked.Client, _ string) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		for text, lines := range map[string]int{"0": 0, "2": 2} {
			stream, err := c.Listen(ctx, &room.Line{From: "me", Text: text})
			if err != nil {
				t.Fatal(err)
			}
			if header, err := stream.Header(); err != nil || header["room"] != "set" {
				t.Errorf("%v, %v", header, err)
			}
			for range lines {
				if _, err := stream.Recv(ctx); err != nil {
					t.Error(err)
				}
			}
			if _, err := stream.Recv(ctx); !errors.Is(err, io.EOF) {
				t.Errorf("the stream ends with %v", err)
			}
		}
	})
}

func TestHeaderOfFailedStreamIsItsError(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		c, err := talked.NewClient("Room", breezewaykitex.Client(p.address))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := c.Talk(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		_, err = stream.Header()
		var exception *remote.TransError
		if !errors.As(err, &exception) || exception.TypeID() != remote.UnknownMethod {
			t.Errorf("%v", err)
		}
	})
}

func TestRustClientTakesSentHeader(t *testing.T) {
	command := programs.Path(t, "BREEZEWAY_BIN")
	withOpeners(t, func(t *testing.T, _ talked.Client, address string) {
		call := exec.Command(command, "call", address, "--framing", "native", "--idl", roomIDL,
			"Room.talk", "-")
		call.Stdin = strings.NewReader(`{"from":"a","text":"b"}`)
		if output, err := call.CombinedOutput(); err != nil ||
			!strings.Contains(string(output), `{"from":"a","text":"b"}`) {
			t.Errorf("%s: %v", output, err)
		}
	})
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
