package rpc_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/room"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/users"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// ends receives the method and the error of each observed call at its end.
type ends chan ended

type ended struct {
	method string
	err    error
}

func (e ends) observe(ctx context.Context, m rpc.Method) (context.Context, func(error)) {
	return ctx, func(err error) { e <- ended{m.String(), err} }
}

// outcomesOfListen asserts what an observer gets of streams that end with a reply, with a declared
// exception and with an error.
func (e ends) outcomesOfListen(t *testing.T, p peer) {
	t.Helper()
	for _, wanted := range []string{"2", "nowhere"} {
		_, _ = p.listened(context.Background(), wanted)
		if err := e.next(t, "Room.listen"); err != nil {
			t.Errorf("%s: %v", wanted, err)
		}
	}
	_, _ = p.listened(context.Background(), "forged")
	failed(t, e.next(t, "Room.listen"), 77)
}

// next asserts the method of the next call that has ended, and returns its error.
func (e ends) next(t *testing.T, method string) error {
	t.Helper()
	select {
	case end := <-e:
		if end.method != method {
			t.Errorf("%v has ended, not %s", end, method)
		}
		return end.err
	case <-time.After(time.Minute):
		t.Fatalf("no call of %s has ended", method)
		return nil
	}
}

// isOver asserts that no other call has ended.
func (e ends) isOver(t *testing.T) {
	t.Helper()
	select {
	case end := <-e:
		t.Errorf("%v has ended once more", end)
	default:
	}
}

// failed asserts the kind of an exception.
func failed(t *testing.T, err error, kind int32) {
	t.Helper()
	var exception *rpc.Exception
	if !errors.As(err, &exception) || exception.Kind != kind {
		t.Errorf("%v is not an exception of kind %d", err, kind)
	}
}

func TestClientsObserverGetsOutcomeOfEachCall(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		ctx, seen := context.Background(), make(ends, 10)
		p.client.Observe(seen.observe)
		p.isRight(t)
		if err := seen.next(t, "Users.age"); err != nil {
			t.Error(err)
		}
		if _, err := p.users.Age(ctx, "Bob"); !errors.As(err, new(*users.NoSuchUser)) {
			t.Error(err)
		}
		if err := seen.next(t, "Users.age"); err != nil {
			t.Errorf("a declared exception: %v", err)
		}
		_, _ = p.users.Age(ctx, "nobody")
		failed(t, seen.next(t, "Users.age"), 77)
		_, _ = p.users.Age(ctx, "infant")
		if err := seen.next(t, "Users.age"); !errors.As(err, new(*rpc.BusinessError)) {
			t.Error(err)
		}
		if err := errors.Join(p.users.Seen(ctx, "Ada"), seen.next(t, "Users.seen")); err != nil {
			t.Error(err)
		}
		seen.isOver(t)
	})
}

func TestClientsObserverGetsOutcomeOfEachStream(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		ctx, seen := context.Background(), make(ends, 10)
		p.client.Observe(seen.observe)
		seen.outcomesOfListen(t, p)
		told, err := p.room.Tell(ctx)
		if err == nil {
			seen.isOver(t)
			_, err = told.CloseAndRecv(ctx)
		}
		if err = errors.Join(err, seen.next(t, "Room.tell")); err != nil {
			t.Error(err)
		}
		talk, err := p.room.Talk(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = talk.Close()
		if err := seen.next(t, "Room.talk"); !errors.Is(err, context.Canceled) {
			t.Errorf("closed: %v", err)
		}
		within, cancel := context.WithCancel(ctx)
		if _, err = p.room.Talk(within); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := seen.next(t, "Room.talk"); err != context.Canceled {
			t.Errorf("cancelled: %v", err)
		}
		seen.isOver(t)
	})
}

func TestObserverGetsErrorsOfUnsentCalls(t *testing.T) {
	client, seen := rpc.NewClient("unix:"+t.TempDir()+"/nowhere"), make(ends, 10)
	defer client.Close()
	client.Observe(seen.observe)
	_, err := users.NewUsersClient(client).Age(context.Background(), "Ada")
	if observed := seen.next(t, "Users.age"); err == nil || observed != err {
		t.Errorf("%v, and not %v", observed, err)
	}
	_, err = room.NewRoomClient(client).Talk(context.Background())
	if observed := seen.next(t, "Room.talk"); err == nil || observed != err {
		t.Errorf("%v, and not %v", observed, err)
	}
	seen.isOver(t)
}

func TestServersObserverGetsOutcomeOfEachHandler(t *testing.T) {
	var server rpc.Server
	seen := make(ends, 10)
	server.Observe(seen.observe)
	address := "shm:" + t.TempDir() + "/users"
	serveGo(t, &server, address)
	client := rpc.NewClient(address)
	defer client.Close()
	p := peer{users: users.NewUsersClient(client), room: room.NewRoomClient(client)}
	ctx := context.Background()
	for _, name := range []string{"Ada", "Bob"} {
		_, _ = p.users.Age(ctx, name)
		if err := seen.next(t, "Users.age"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _ = p.users.Age(ctx, "nobody")
	failed(t, seen.next(t, "Users.age"), 77)
	_, _ = p.users.Age(ctx, "panic")
	panicked(t, seen.next(t, "Users.age"))
	if err := errors.Join(p.users.Seen(ctx, "Ada"), seen.next(t, "Users.seen")); err != nil {
		t.Error(err)
	}
	seen.outcomesOfListen(t, p)
	_, _ = p.listened(ctx, "panic")
	panicked(t, seen.next(t, "Room.listen"))
	talk, err := p.room.Talk(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = talk.Close()
	if err := seen.next(t, "Room.talk"); !errors.Is(err, context.Canceled) {
		t.Errorf("closed by its client: %v", err)
	}
	seen.isOver(t)
}

func panicked(t *testing.T, err error) {
	t.Helper()
	var failed *breezeway.CallError
	if !errors.As(err, &failed) || failed.Code != breezeway.CodePanicked {
		t.Errorf("%v is no panic", err)
	}
}

// adding returns an observer that sends a name and a value.
func adding(name, value string) rpc.Observer {
	return func(ctx context.Context, _ rpc.Method) (context.Context, func(error)) {
		return rpc.WithMetadata(ctx, name, value), func(error) {}
	}
}

func TestMetadataOfObserversTravelsBehindTheCallers(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		p.client.Observe(adding("years", "4"))
		p.client.Observe(adding("name", "Ada"))
		ctx := context.Background()
		if age, err := p.users.Age(ctx, "Ada"); age != 40 || err != nil {
			t.Errorf("%d, %v", age, err)
		}
		if age, err := p.users.Age(rpc.WithMetadata(ctx, "years", "5"), "Ada"); age != 41 ||
			err != nil {
			t.Errorf("the caller's: %d, %v", age, err)
		}
		stream, err := p.room.Listen(ctx, &room.Line{Text: "1"})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		if header, err := stream.Header(ctx); err != nil || header["greeting"] != "hello Ada" {
			t.Errorf("%v, %v", header, err)
		}
	})
}

func TestServerWithoutMetadataGetsNoneOfObservers(t *testing.T) {
	address := "shm:" + t.TempDir() + "/users"
	serveGo(t, new(rpc.Server), address, breezeway.WithMaxMetadata(0))
	client := rpc.NewClient(address)
	defer client.Close()
	client.Observe(adding("years", "4"))
	ctx, users, hall := context.Background(), users.NewUsersClient(client),
		room.NewRoomClient(client)
	if age, err := users.Age(ctx, "Ada"); age != 36 || err != nil {
		t.Errorf("%d, %v", age, err)
	}
	talk, err := hall.Talk(ctx)
	if err == nil {
		err = errors.Join(talk.CloseSend(), talk.Close())
	}
	if err != nil {
		t.Error(err)
	}
	_, err = users.Age(rpc.WithMetadata(ctx, "born", "?"), "Ada")
	if !errors.As(err, new(*breezeway.TooMuchMetadataError)) {
		t.Errorf("metadata of the caller: %v", err)
	}
}

func TestHandlerRunsInContextOfObservers(t *testing.T) {
	type key struct{}
	var (
		server rpc.Server
		order  []string
		mu     sync.Mutex
	)
	note := func(word string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, word)
	}
	observer := func(name string) rpc.Observer {
		return func(ctx context.Context, _ rpc.Method) (context.Context, func(error)) {
			if carrier, has := rpc.CarrierOf(ctx); !has || carrier != breezeway.Unix {
				t.Errorf("%v, %v", carrier, has)
			}
			note("begin " + name)
			outer, _ := ctx.Value(key{}).(string)
			return context.WithValue(ctx, key{}, outer+name), func(error) { note("end " + name) }
		}
	}
	server.Observe(observer("a"))
	server.Observe(observer("b"))
	room.RegisterRoom(&server, contextual{hall{}, func(ctx context.Context) string {
		text, _ := ctx.Value(key{}).(string)
		return text
	}})
	address := "unix:" + t.TempDir() + "/room"
	if err := server.Listen(address); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	client := rpc.NewClient(address)
	defer client.Close()
	ctx, caller := context.Background(), room.NewRoomClient(client)
	if line, err := caller.Say(ctx, new(room.Line)); err != nil || line.Text != "ab" {
		t.Errorf("%v, %v", line, err)
	}
	talk, err := caller.Talk(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := talk.Recv(ctx); err != nil || line.Text != "ab" {
		t.Errorf("%v, %v", line, err)
	}
	if _, err := talk.Recv(ctx); err != io.EOF {
		t.Error(err)
	}
	if err := server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	<-served
	mu.Lock()
	defer mu.Unlock()
	once := []string{"begin a", "begin b", "end b", "end a"}
	if !slices.Equal(order, append(once, once...)) {
		t.Error(order)
	}
}

// contextual replies with a text of its context.
type contextual struct {
	hall
	text func(ctx context.Context) string
}

func (c contextual) Say(ctx context.Context, _ *room.Line) (*room.Line, error) {
	return &room.Line{Text: c.text(ctx)}, nil
}

func (c contextual) Talk(ctx context.Context,
	stream *rpc.BidiStreamingServer[room.Line, room.Line]) error {
	return stream.Send(ctx, &room.Line{Text: c.text(ctx)})
}

// patient waits in its streams until its clients are gone, and succeeds.
type patient struct{ hall }

func (patient) Tell(ctx context.Context, _ *rpc.ClientStreamingServer[room.Line]) (*room.Heard,
	error) {
	<-ctx.Done()
	return new(room.Heard), nil
}

func (patient) Talk(ctx context.Context, _ *rpc.BidiStreamingServer[room.Line, room.Line]) error {
	<-ctx.Done()
	return nil
}

func (patient) Listen(ctx context.Context, _ *room.Line,
	_ *rpc.ServerStreamingServer[room.Line]) error {
	<-ctx.Done()
	return new(room.NoSuchRoom)
}

func TestHandlerThatOutlivesItsClientSucceeds(t *testing.T) {
	var server rpc.Server
	seen := make(ends, 10)
	server.Observe(seen.observe)
	room.RegisterRoom(&server, patient{})
	address := "shm:" + t.TempDir() + "/room"
	serve(t, &server, address)
	client := rpc.NewClient(address)
	defer client.Close()
	ctx, caller := context.Background(), room.NewRoomClient(client)
	open := map[string]func() (io.Closer, error){
		"Room.talk":   func() (io.Closer, error) { return caller.Talk(ctx) },
		"Room.tell":   func() (io.Closer, error) { return caller.Tell(ctx) },
		"Room.listen": func() (io.Closer, error) { return caller.Listen(ctx, new(room.Line)) },
	}
	for method, open := range open {
		stream, err := open()
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Close()
		if err := seen.next(t, method); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	seen.isOver(t)
}
