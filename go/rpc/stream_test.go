package rpc_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/idl/room"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// listened receives the lines of a stream until its end.
func (p peer) listened(ctx context.Context, wanted string) (lines []string, err error) {
	stream, err := p.room.Listen(ctx, &room.Line{From: "Ada", Text: wanted})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	for {
		line, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, line.Text)
	}
}

func TestStreamsTravelInTheirForms(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		ctx := context.Background()
		for _, count := range []int{0, 1, 300} {
			lines, err := p.listened(ctx, strconv.Itoa(count))
			if err != nil || len(lines) != count ||
				count > 0 && lines[count-1] != strconv.Itoa(count-1) {
				t.Errorf("%d lines: %d, %v", count, len(lines), err)
			}
		}
		told, err := p.room.Tell(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			if err := told.Send(ctx, &room.Line{Text: "hello"}); err != nil {
				t.Fatal(err)
			}
		}
		if heard, err := told.CloseAndRecv(ctx); err != nil || heard.Lines != 300 ||
			heard.Bytes != 1500 {
			t.Errorf("%v, %v", heard, err)
		}
		talk, err := p.room.Talk(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 5000, 1 << 20, 1} {
			line := &room.Line{From: "Ada", Text: strings.Repeat("x", size)}
			if err := talk.Send(ctx, line); err != nil {
				t.Fatal(err)
			}
			if back, err := talk.Recv(ctx); err != nil || *back != *line {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
		if err := talk.CloseSend(); err != nil {
			t.Error(err)
		}
		if _, err := talk.Recv(ctx); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
		p.isRight(t)
	})
}

func TestErrorsOfStreamsArriveAsTheyAre(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		ctx := context.Background()
		_, err := p.listened(ctx, "nowhere")
		var missing *room.NoSuchRoom
		if !errors.As(err, &missing) || missing.Name != "Ada" {
			t.Errorf("a declared exception: %v", err)
		}
		_, err = p.listened(ctx, "refused")
		var business *rpc.BusinessError
		if !errors.As(err, &business) || business.Status != 410 || business.Message != "too late" ||
			business.Extra["since"] != "May" {
			t.Errorf("a business error: %v", err)
		}
		for wanted, kind := range map[string]int32{"forged": 77, "panic": rpc.KindInternalError} {
			_, err = p.listened(ctx, wanted)
			var exception *rpc.Exception
			if !errors.As(err, &exception) || exception.Kind != kind {
				t.Errorf("%s: %v", wanted, err)
			}
		}
		p.isRight(t)
	})
}

func TestStreamsMetadataArrives(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		ctx := rpc.WithMetadata(context.Background(), "name", "Ada")
		stream, err := p.room.Listen(ctx, &room.Line{From: "Ada", Text: "1"})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		header, err := stream.Header(ctx)
		if err != nil || header["greeting"] != "hello Ada" {
			t.Errorf("%v, %v", header, err)
		}
	})
}

func TestCancelledStreamEndsItsHandler(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		ctx, cancel := context.WithCancel(context.Background())
		stream, err := p.room.Listen(ctx, &room.Line{From: "Ada", Text: "endless"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		if said := p.says(t); said != "given up" {
			t.Errorf("%q", said)
		}
		for err == nil {
			_, err = stream.Recv(context.Background())
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		p.isRight(t)
	})
}

func TestStreamsDeadlineEndsIt(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if _, err := p.listened(ctx, "endless"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if said := p.says(t); said != "given up" {
			t.Errorf("%q", said)
		}
		p.isRight(t)
	})
}

func TestClosedStreamEndsItsHandler(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		stream, err := p.room.Listen(context.Background(), &room.Line{From: "Ada", Text: "endless"})
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Close()
		if said := p.says(t); said != "given up" {
			t.Errorf("%q", said)
		}
		p.isRight(t)
	})
}

// pathKey is the key of a value of observers' contexts.
type pathKey struct{}

// watched serves streams of lines whose handlers pass their stream's method and context to seen.
type watched struct {
	hall
	seen chan *rpc.ServerStreamingServer[room.Line]
}

func (w watched) Listen(_ context.Context, _ *room.Line,
	stream *rpc.ServerStreamingServer[room.Line]) error {
	w.seen <- stream
	return nil
}

func TestStreamHasItsMethodAndAContextThatEndsWithIt(t *testing.T) {
	names := func(ctx context.Context, m rpc.Method) (context.Context, func(error)) {
		return context.WithValue(ctx, pathKey{}, m.String()), func(error) {}
	}
	var server rpc.Server
	server.Observe(names)
	seen := make(chan *rpc.ServerStreamingServer[room.Line], 1)
	room.RegisterRoom(&server, watched{seen: seen})
	address := "unix:" + t.TempDir() + "/room"
	serve(t, &server, address)
	client := rpc.NewClient(address)
	defer client.Close()
	client.Observe(names)
	stream, err := room.NewRoomClient(client).Listen(context.Background(), &room.Line{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	served, ctx := <-seen, stream.Context()
	for side, m := range map[string]rpc.Method{"client": stream.Method(),
		"server": served.Method()} {
		if m.String() != "Room.listen" {
			t.Errorf("the %s's method is %v", side, m)
		}
	}
	for side, ctx := range map[string]context.Context{"client": ctx, "server": served.Context()} {
		if ctx.Value(pathKey{}) != "Room.listen" {
			t.Errorf("the %s's context lacks the value of its observer", side)
		}
	}
	if err := ctx.Err(); err != nil {
		t.Errorf("the client's context has ended with the stream open: %v", err)
	}
	if _, err := stream.Recv(context.Background()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	<-served.Context().Done()
	if ctx.Err() == nil || stream.Context().Err() == nil {
		t.Error("the client's context goes on behind the stream's end")
	}
}

func TestClosedStreamEndsItsContext(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		stream, err := p.room.Listen(context.Background(), &room.Line{From: "Ada", Text: "endless"})
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Close()
		if !errors.Is(stream.Context().Err(), context.Canceled) {
			t.Error("its context goes on")
		}
	})
}
