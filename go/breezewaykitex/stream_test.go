package breezewaykitex_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/streaming"
	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/room"
	talked "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/room/room"
	"github.com/breezeway-ipc/breezeway/go/internal/programs"
)

const roomIDL = "../../crates/breezeway-rpc/tests/idl/room.thrift"

// hall is the service of room.thrift.
type hall struct{ ended chan error }

// greet answers metadata with metadata.
func greet(ctx context.Context, stream streaming.ServerStream) error {
	if name, has := metainfo.GetValue(ctx, "name"); has {
		return stream.SetTrailer(streaming.Trailer{"greeting": "hello " + name})
	}
	return nil
}

func (h *hall) Listen(ctx context.Context, wanted *room.Line, stream room.Room_listenServer) error {
	switch wanted.Text {
	case "nowhere":
		return &room.NoSuchRoom{Name: wanted.From}
	case "refused":
		extra := map[string]string{"since": "May"}
		return kerrors.NewBizStatusErrorWithExtra(410, "too late", extra)
	case "forged":
		return remote.NewTransErrorWithMsg(77, "no such coupon")
	case "panic":
		panic("of this stream")
	case "endless":
		for {
			if err := stream.Send(ctx, wanted); err != nil {
				h.ended <- err
				return err
			}
		}
	}
	count, err := strconv.Atoi(wanted.Text)
	for number := 0; number < count && err == nil; number++ {
		err = stream.Send(ctx, &room.Line{From: wanted.From, Text: strconv.Itoa(number)})
	}
	return errors.Join(err, greet(ctx, stream))
}

func (*hall) Tell(ctx context.Context, stream room.Room_tellServer) error {
	heard := &room.Heard{}
	for {
		line, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(ctx, heard)
		}
		if err != nil {
			return err
		}
		heard.Lines++
		heard.Bytes += int64(len(line.Text))
	}
}

func (h *hall) Talk(ctx context.Context, stream room.Room_talkServer) error {
	for {
		line, err := stream.Recv(ctx)
		if err == nil {
			err = stream.Send(ctx, line)
		}
		if errors.Is(err, io.EOF) {
			return greet(ctx, stream)
		}
		if err != nil {
			h.ended <- err
			return err
		}
	}
}

func (*hall) Say(_ context.Context, line *room.Line) (*room.Line, error) { return line, nil }

// withRooms runs a test with a room over shared memory and a unix socket.
func withRooms(t *testing.T, test func(t *testing.T, c talked.Client, service *hall,
	address string)) {
	for _, carrier := range []string{"shm:", "unix:"} {
		t.Run(carrier[:len(carrier)-1], func(t *testing.T) {
			address, service := carrier+t.TempDir()+"/room", &hall{make(chan error, 1)}
			t.Cleanup(stopping(t, start(t, address, func(opts ...server.Option) server.Server {
				return talked.NewServer(service, opts...)
			})))
			c, err := talked.NewClient("Room", breezewaykitex.Client(address))
			if err != nil {
				t.Fatal(err)
			}
			test(t, c, service, address)
		})
	}
}

// listen receives all lines of a stream, and returns what it ends with.
func listen(ctx context.Context, c talked.Client, text string) (lines int, last string, err error) {
	stream, err := c.Listen(ctx, &room.Line{From: "hall", Text: text})
	for err == nil {
		var line *room.Line
		if line, err = stream.Recv(ctx); err == nil {
			lines, last = lines+1, line.Text
		}
	}
	return lines, last, err
}

func TestStreamsTravelInTheirFourForms(t *testing.T) {
	withRooms(t, func(t *testing.T, c talked.Client, _ *hall, _ string) { fourForms(t, c) })
}

func fourForms(t *testing.T, c talked.Client) {
	ctx := context.Background()
	for _, count := range []int{0, 1, 1000} {
		lines, last, err := listen(ctx, c, fmt.Sprint(count))
		if lines != count || !errors.Is(err, io.EOF) ||
			count > 0 && last != fmt.Sprint(count-1) {
			t.Errorf("%d lines come, the last is %q: %v", lines, last, err)
		}
	}
	telling, err := c.Tell(ctx)
	for i := 0; i < 1000 && err == nil; i++ {
		err = telling.Send(ctx, &room.Line{From: "me", Text: "four"})
	}
	if err != nil {
		t.Fatal(err)
	}
	heard, err := telling.CloseAndRecv(ctx)
	if err != nil || heard.Lines != 1000 || heard.Bytes != 4000 {
		t.Errorf("%+v is heard, %v", heard, err)
	}
	talking, err := c.Talk(ctx)
	for i := 0; i < 1000 && err == nil; i++ {
		sent := &room.Line{From: "me", Text: fmt.Sprint(i)}
		var back *room.Line
		if err = talking.Send(ctx, sent); err == nil {
			back, err = talking.Recv(ctx)
		}
		if err == nil && back.Text != sent.Text {
			err = fmt.Errorf("%s comes back as %s", sent.Text, back.Text)
		}
	}
	if err = errors.Join(err, talking.CloseSend(ctx)); err != nil {
		t.Fatal(err)
	}
	if _, err := talking.Recv(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	if back, err := c.Say(ctx, &room.Line{From: "me", Text: "once"}); err != nil ||
		back.Text != "once" {
		t.Errorf("%v, %v", back, err)
	}
}

func TestStreamsErrorsArriveAsTheyAre(t *testing.T) {
	withRooms(t, func(t *testing.T, c talked.Client, _ *hall, _ string) { streamErrors(t, c) })
}

func streamErrors(t *testing.T, c talked.Client) {
	ctx := context.Background()
	_, _, err := listen(ctx, c, "nowhere")
	var missing *room.NoSuchRoom
	if !errors.As(err, &missing) || missing.Name != "hall" {
		t.Errorf("a declared exception: %v", err)
	}
	_, _, err = listen(ctx, c, "refused")
	if business, is := kerrors.FromBizStatusError(err); !is ||
		business.BizStatusCode() != 410 || business.BizMessage() != "too late" ||
		business.BizExtra()["since"] != "May" {
		t.Errorf("a business error: %v", err)
	}
	for text, kind := range map[string]int32{"forged": 77, "no number": remote.InternalError,
		"panic": remote.InternalError} {
		_, _, err = listen(ctx, c, text)
		var exception *remote.TransError
		if !errors.As(err, &exception) || exception.TypeID() != kind {
			t.Errorf("%s: %v", text, err)
		}
	}
	if lines, _, err := listen(ctx, c, "3"); lines != 3 || !errors.Is(err, io.EOF) {
		t.Errorf("the next stream has %d lines, %v", lines, err)
	}
}

func TestStreamOfUnknownMethodIsReset(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		c, err := talked.NewClient("Room", breezewaykitex.Client(p.address))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = listen(context.Background(), c, "3")
		var exception *remote.TransError
		if !errors.As(err, &exception) || exception.TypeID() != remote.UnknownMethod {
			t.Errorf("%v", err)
		}
		p.isRight(t)
	})
}

func TestStreamEndsWithItsClientsContext(t *testing.T) {
	withRooms(t, func(t *testing.T, c talked.Client, service *hall, _ string) {
		ctx, cancel := context.WithCancel(context.Background())
		stream, err := c.Listen(ctx, &room.Line{From: "hall", Text: "endless"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-service.ended; err == nil {
			t.Error("the handler goes on")
		}
		for err == nil {
			_, err = stream.Recv(ctx)
		}
		if errors.Is(err, io.EOF) {
			t.Error("the stream ends as if it were whole")
		}
		ctx, cancel = context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		talking, err := c.Talk(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := talking.Recv(ctx); !errors.Is(err, kerrors.ErrRPCTimeout) {
			t.Errorf("at the deadline: %v", err)
		}
		if err := <-service.ended; err == nil {
			t.Error("the handler goes on past the deadline")
		}
	})
}

func TestStreamsMetainfoTravelsBothWays(t *testing.T) {
	withRooms(t, func(t *testing.T, c talked.Client, _ *hall, _ string) {
		ctx := metainfo.WithValue(context.Background(), "name", "Ada")
		stream, err := c.Listen(ctx, &room.Line{From: "hall", Text: "2"})
		for err == nil {
			_, err = stream.Recv(ctx)
		}
		trailer, failed := stream.Trailer()
		if trailer["greeting"] != "hello Ada" || failed != nil {
			t.Errorf("%v, %v behind %v", trailer, failed, err)
		}
	})
}

func TestManyStreamsOfOneSessionGoOnTogether(t *testing.T) {
	withRooms(t, func(t *testing.T, c talked.Client, _ *hall, _ string) {
		var all sync.WaitGroup
		for range 50 {
			all.Add(1)
			go func() {
				defer all.Done()
				lines, _, err := listen(context.Background(), c, "200")
				if lines != 200 || !errors.Is(err, io.EOF) {
					t.Errorf("%d lines, %v", lines, err)
				}
			}()
		}
		all.Wait()
	})
}

func TestRustClientStreamsInEveryForm(t *testing.T) {
	command := programs.Path(t, "BREEZEWAY_BIN")
	withRooms(t, func(t *testing.T, _ talked.Client, _ *hall, address string) {
		for _, c := range []struct {
			method, input string
			status        int
			output        string
		}{
			{"Room.listen", `{"from":"a","text":"2"}`, 0,
				`{"from":"a","text":"0"}` + "\n" + `{"from":"a","text":"1"}`},
			{"Room.tell", `{"from":"a","text":"b"}` + "\n" + `{"from":"a","text":"cd"}`, 0,
				`{"lines":2,"bytes":3}`},
			{"Room.talk", `{"from":"a","text":"b"}` + "\n" + `{"from":"a","text":"cd"}`, 0,
				`{"from":"a","text":"b"}` + "\n" + `{"from":"a","text":"cd"}`},
			{"Room.listen", `{"from":"a","text":"nowhere"}`, 3,
				`Room.listen threw NoSuchRoom: {"name":"a"}`},
			{"Room.listen", `{"from":"a","text":"refused"}`, 3, "too late (status 410)"},
			{"Room.listen", `{"from":"a","text":"forged"}`, 4, "no such coupon"},
			{"Room.listen", `{"from":"a","text":"panic"}`, 4, "of this stream"},
		} {
			call := exec.Command(command, "call", address, "--framing", "native", "--idl",
				roomIDL, c.method, "-")
			call.Stdin = strings.NewReader(c.input)
			output, err := call.CombinedOutput()
			if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if status := call.ProcessState.ExitCode(); status != c.status ||
				!strings.Contains(string(output), c.output) {
				t.Errorf("%s %s: status %d, %s", c.method, c.input, status, output)
			}
		}
	})
}

func TestRustServerStreamsInEveryForm(t *testing.T) {
	withRust(t, func(t *testing.T, server *programs.Program, p pair) {
		c, err := talked.NewClient("Room", breezewaykitex.Client(p.address))
		if err != nil {
			t.Fatal(err)
		}
		fourForms(t, c)
		streamErrors(t, c)
		ctx, cancel := context.WithCancel(context.Background())
		ctx = metainfo.WithValue(ctx, "name", "Ada")
		stream, err := c.Listen(ctx, &room.Line{From: "hall", Text: "endless"})
		if err == nil {
			_, err = stream.Recv(ctx)
		}
		header, failed := stream.Header()
		if header["greeting"] != "hello Ada" || err != nil || failed != nil {
			t.Errorf("%v, %v, %v", header, err, failed)
		}
		cancel()
		if said := server.Says(t); said != "given up" {
			t.Errorf("%q at the cancellation", said)
		}
		if lines, _, err := listen(context.Background(), c, "3"); lines != 3 ||
			!errors.Is(err, io.EOF) {
			t.Errorf("the next stream has %d lines, %v", lines, err)
		}
	})
}
