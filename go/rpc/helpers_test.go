package rpc_test

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/room"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/users"
	"github.com/breezeway-ipc/breezeway/go/internal/programs"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// A peer is a server of Users and Room.
type peer struct {
	address string
	users   *users.UsersClient
	room    *room.RoomClient
	client  *rpc.Client
	// says returns the server's next word: the name of a oneway call, "slow" for a call that hangs,
	// and "given up" when its client no longer waits.
	says func(t *testing.T) string
}

// withServers runs a test with a server in Go and one in Rust, over shared memory and a unix
// socket.
func withServers(t *testing.T, test func(t *testing.T, p peer)) {
	for name, start := range map[string]func(*testing.T, string) func(*testing.T) string{
		"go": startGo, "rust": startRust} {
		for _, carrier := range []string{"shm:", "unix:"} {
			t.Run(name+"/"+carrier[:len(carrier)-1], func(t *testing.T) {
				address := carrier + t.TempDir() + "/users"
				says := start(t, address)
				client := rpc.NewClient(address)
				t.Cleanup(func() { _ = client.Close() })
				test(t, peer{address, users.NewUsersClient(client), room.NewRoomClient(client),
					client, says})
			})
		}
	}
}

// isRight fails a test unless the session goes on.
func (p peer) isRight(t *testing.T) {
	t.Helper()
	if age, err := p.users.Age(context.Background(), "Ada"); age != 36 || err != nil {
		t.Errorf("the next call gives %d, %v", age, err)
	}
}

func startRust(t *testing.T, address string) func(t *testing.T) string {
	path := programs.Path(t, "BREEZEWAY_INTEROP")
	server := programs.Start(t, exec.Command(path, "serve-users", address))
	says := func(t *testing.T) string { return server.Says(t) }
	says(t) // It listens.
	return says
}

func startGo(t *testing.T, address string) func(t *testing.T) string {
	return serveGo(t, new(rpc.Server), address)
}

func serveGo(t *testing.T, server *rpc.Server, address string,
	opts ...breezeway.ServerOption) func(t *testing.T) string {
	said := make(chan string, 100)
	users.RegisterUsers(server, table{said})
	room.RegisterRoom(server, hall{said})
	serve(t, server, address, opts...)
	return func(*testing.T) string { return <-said }
}

// serve serves what is registered until the end of the test.
func serve(t *testing.T, server *rpc.Server, address string, opts ...breezeway.ServerOption) {
	t.Helper()
	if err := server.Listen(address, opts...); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve() }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
}

// table is the service Users, as docs/vectors/README.md describes it.
type table struct{ said chan<- string }

func (t table) Age(ctx context.Context, name string) (int64, error) {
	switch name {
	case "Ada":
		years, _ := rpc.Metadata(ctx, "years")
		more, _ := strconv.ParseInt(years, 10, 64)
		if _, asked := rpc.Metadata(ctx, "born"); asked {
			rpc.SetReplyMetadata(ctx, "born", "1815")
		}
		return 36 + more, nil
	case "infant":
		return 0, &rpc.BusinessError{Status: 7, Message: "too young"}
	case "nobody":
		return 0, &rpc.Exception{Kind: 77, Message: "no such table"}
	case "broken":
		return 0, errors.New("the table is broken")
	case "panic":
		panic("of this handler")
	case "slow":
		t.said <- "slow"
		<-ctx.Done()
		t.said <- "given up"
		return 0, ctx.Err()
	}
	return 0, &users.NoSuchUser{Name: name}
}

func (t table) Seen(_ context.Context, name string) error {
	t.said <- name
	return nil
}

// hall is the service Room.
type hall struct{ said chan<- string }

func (h hall) Listen(ctx context.Context, wanted *room.Line,
	stream *rpc.ServerStreamingServer[room.Line]) error {
	if name, has := rpc.Metadata(ctx, "name"); has {
		rpc.SetReplyMetadata(ctx, "greeting", "hello "+name)
	}
	count := -1
	switch wanted.Text {
	case "nowhere":
		return &room.NoSuchRoom{Name: wanted.From}
	case "refused":
		return &rpc.BusinessError{Status: 410, Message: "too late",
			Extra: map[string]string{"since": "May"}}
	case "forged":
		return &rpc.Exception{Kind: 77, Message: "no such coupon"}
	case "panic":
		panic("of this stream")
	case "endless":
		defer func() { h.said <- "given up" }()
	default:
		number, err := strconv.Atoi(wanted.Text)
		if err != nil {
			return err
		}
		count = number
	}
	for i := 0; i != count; i++ {
		line := &room.Line{From: wanted.From, Text: strconv.Itoa(i)}
		if err := stream.Send(ctx, line); err != nil {
			return err
		}
	}
	rpc.SetReplyMetadata(ctx, "farewell", "bye")
	return nil
}

func (h hall) Tell(ctx context.Context, stream *rpc.ClientStreamingServer[room.Line]) (*room.Heard,
	error) {
	heard := new(room.Heard)
	for {
		line, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return heard, nil
		}
		if err != nil {
			return nil, err
		}
		heard.Lines++
		heard.Bytes += int64(len(line.Text))
	}
}

func (h hall) Talk(ctx context.Context,
	stream *rpc.BidiStreamingServer[room.Line, room.Line]) error {
	for {
		line, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = stream.Send(ctx, line)
		}
		if err != nil {
			return err
		}
	}
}

func (h hall) Say(_ context.Context, line *room.Line) (*room.Line, error) { return line, nil }
