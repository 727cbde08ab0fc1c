package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/room"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/users"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
	"github.com/breezeway-ipc/breezeway/go/rpc"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// faulty is a server whose handlers return what they should not.
type faulty struct {
	table
	hall
}

func (faulty) Seen(context.Context, string) error { return errors.New("the eyes are shut") }

func (faulty) Age(context.Context, string) (int64, error) { return 0, (*users.NoSuchUser)(nil) }

func (faulty) Say(context.Context, *room.Line) (*room.Line, error) { return nil, nil }

// Talk ends at once.
func (faulty) Talk(context.Context, *rpc.BidiStreamingServer[room.Line, room.Line]) error {
	return nil
}

func (faulty) Listen(context.Context, *room.Line, *rpc.ServerStreamingServer[room.Line]) error {
	return &rpc.BusinessError{Status: 7, Message: strings.Repeat("é", 50_000)}
}

// logged sends the lines of a log.
type logged chan string

func (l logged) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// withFaulty returns a client of a faulty server, and its log.
func withFaulty(t *testing.T) (*rpc.Client, logged) {
	log := make(logged, 100)
	server := &rpc.Server{}
	users.RegisterUsers(server, faulty{})
	room.RegisterRoom(server, faulty{})
	address := "unix:" + t.TempDir() + "/faulty"
	logger := slog.New(slog.NewTextHandler(log, nil))
	if err := server.Listen(address, breezeway.WithLogger(logger)); err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	client := rpc.NewClient(address)
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	return client, log
}

// limited returns a context for operations that must end.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestErrorOfOnewayHandlerIsLogged(t *testing.T) {
	client, log := withFaulty(t)
	ctx := limited(t)
	if err := users.NewUsersClient(client).Seen(ctx, "Ada"); err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-log:
		if !strings.Contains(line, "Users.seen") || !strings.Contains(line, "the eyes are shut") {
			t.Error(line)
		}
	case <-ctx.Done():
		t.Error("nothing is logged")
	}
}

func TestNilStructOfHandlerIsEmpty(t *testing.T) {
	client, _ := withFaulty(t)
	line, err := room.NewRoomClient(client).Say(limited(t), &room.Line{Text: "hello"})
	if err != nil || *line != (room.Line{}) {
		t.Errorf("%v, %v", line, err)
	}
}

func TestNilExceptionIsAnError(t *testing.T) {
	client, _ := withFaulty(t)
	age, err := users.NewUsersClient(client).Age(limited(t), "Ada")
	if err == nil {
		t.Errorf("%d is the age", age)
	}
	var result users.UsersAgeResult
	if result.SetErr((*users.NoSuchUser)(nil)) {
		t.Error("a nil exception is set")
	}
}

func TestLongBusinessErrorOfStreamIsCut(t *testing.T) {
	client, _ := withFaulty(t)
	ctx := limited(t)
	stream, err := room.NewRoomClient(client).Listen(ctx, new(room.Line))
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv(ctx)
	var business *rpc.BusinessError
	if !errors.As(err, &business) || business.Message != strings.Repeat("é", 65_534/2) {
		t.Errorf("%.100v", err)
	}
}

func TestClientThatSendsOnIsResetBehindTheEnd(t *testing.T) {
	client, _ := withFaulty(t)
	ctx := limited(t)
	stream, err := room.NewRoomClient(client).Talk(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = stream.Send(ctx, new(room.Line))
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestFailedOpenReturnsNoStream(t *testing.T) {
	client := rpc.NewClient("unix:" + t.TempDir() + "/nothing")
	defer client.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if stream, err := room.NewRoomClient(client).Tell(ctx); stream != nil || err == nil {
		t.Errorf("%v, %v", stream, err)
	}
	if stream, err := room.NewRoomClient(client).Talk(ctx); stream != nil || err == nil {
		t.Errorf("%v, %v", stream, err)
	}
}

func TestRegistrationAfterListenPanics(t *testing.T) {
	var server rpc.Server
	if err := server.Listen("unix:" + t.TempDir() + "/users"); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	defer func() {
		if reason, _ := recover().(string); !strings.Contains(reason, "Users.age is registered") {
			t.Error(reason)
		}
	}()
	users.RegisterUsers(&server, table{})
}

func TestEndOfRequestsObservesItsContext(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		ctx := limited(t)
		stream, err := p.room.Tell(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := stream.CloseAndRecv(ended); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := stream.Send(ctx, &room.Line{Text: "on"}); err != nil {
			t.Error(err)
		}
		if heard, err := stream.CloseAndRecv(ctx); err != nil || heard.Lines != 1 {
			t.Errorf("%v, %v", heard, err)
		}
	})
}

// serveNative serves calls and streams without the rules of this package.
func serveNative(t *testing.T, handler breezeway.Handler, streams breezeway.StreamHandler,
) *rpc.Client {
	address := "unix:" + t.TempDir() + "/native"
	server, err := breezeway.Listen(address, handler, breezeway.WithService(wire.Number),
		breezeway.WithStreamHandler(streams))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	client := rpc.NewClient(address)
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	return client
}

func TestBrokenReplyMetadataCountsOnlyIfWanted(t *testing.T) {
	age := int64(36)
	reply := thrift.Marshal(&users.UsersAgeResult{Success: &age})
	client := users.NewUsersClient(serveNative(t,
		func(_ context.Context, call *breezeway.Call) error {
			return call.ReplyWithMetadata([]byte{1}, reply)
		}, nil))
	ctx := limited(t)
	if age, err := client.Age(ctx, "Ada"); age != 36 || err != nil {
		t.Errorf("%d, %v", age, err)
	}
	var pairs map[string]string
	_, err := client.Age(rpc.WithReplyMetadata(ctx, &pairs), "Ada")
	if !errors.Is(err, rpc.ErrProtocol) {
		t.Error(err)
	}
}

func TestStreamsDeadlineResetsWithItsCode(t *testing.T) {
	codes := make(chan breezeway.Code, 1)
	client := room.NewRoomClient(serveNative(t, nil,
		func(_ context.Context, stream *breezeway.Stream) {
			var err error
			for err == nil {
				_, err = stream.Recv(context.Background())
			}
			code, _ := breezeway.IsReset(err)
			codes <- code
		}))
	for range 100 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		stream, err := client.Talk(ctx)
		if err != nil {
			cancel()
			continue // The machine is slow.
		}
		if _, err := stream.Recv(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if code := <-codes; code != breezeway.CodeDeadlinePassed {
			t.Fatalf("reset with %v", code)
		}
		cancel()
	}
}

// foreignThrower returns exceptions that its methods do not declare, and the one that they do.
type foreignThrower struct{ table }

func (foreignThrower) Age(_ context.Context, name string) (int64, error) {
	if name == "wrapped" {
		return 0, fmt.Errorf("by the other service: %w", &users.NoSuchUser{Name: name})
	}
	return 0, &room.NoSuchRoom{Name: name}
}

func TestExceptionOfAnotherMethodNamesTheRemedy(t *testing.T) {
	var server rpc.Server
	users.RegisterUsers(&server, foreignThrower{})
	room.RegisterRoom(&server, otherHall{})
	address := "unix:" + t.TempDir() + "/users"
	serve(t, &server, address)
	client := rpc.NewClient(address)
	defer client.Close()
	ctx := context.Background()
	_, err := users.NewUsersClient(client).Age(ctx, "wrapped")
	var missing *users.NoSuchUser
	if !errors.As(err, &missing) || missing.Name != "wrapped" {
		t.Errorf("a declared exception of another service: %v", err)
	}
	const remedy = "does not declare *room.NoSuchRoom; add it to its throws"
	_, err = users.NewUsersClient(client).Age(ctx, "Bob")
	var exception *rpc.Exception
	if !errors.As(err, &exception) || exception.Kind != rpc.KindInternalError ||
		!strings.Contains(err.Error(), "(Users.age "+remedy) {
		t.Errorf("an undeclared one: %v", err)
	}
	stream, err := room.NewRoomClient(client).Listen(ctx, &room.Line{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	_, err = stream.Recv(ctx)
	if err == nil || !strings.Contains(err.Error(),
		"(Room.listen does not declare *users.NoSuchUser; add it to its throws") {
		t.Errorf("an undeclared one of a stream: %v", err)
	}
}

// otherHall throws an exception of another service.
type otherHall struct{ hall }

func (otherHall) Listen(context.Context, *room.Line,
	*rpc.ServerStreamingServer[room.Line]) error {
	return &users.NoSuchUser{Name: "Ada"}
}
