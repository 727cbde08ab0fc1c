package breezewayotel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewayotel"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/room"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/users"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// hall acts by the text of the first line.
type hall struct{ asked chan<- struct{} }

func (h hall) Say(ctx context.Context, line *room.Line) (*room.Line, error) {
	switch line.Text {
	case "fail":
		return nil, errors.New("on purpose")
	case "nowhere":
		return nil, &room.NoSuchRoom{Name: "nowhere"}
	case "panic":
		panic("on purpose")
	case "never":
		h.asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, work := otel.Tracer("test").Start(ctx, "work")
	work.End()
	return line, nil
}

func (h hall) Listen(ctx context.Context, wanted *room.Line,
	stream *rpc.ServerStreamingServer[room.Line]) error {
	line, err := h.Say(ctx, wanted)
	if err == nil {
		err = stream.Send(ctx, line)
	}
	return err
}

func (hall) Talk(ctx context.Context, stream *rpc.BidiStreamingServer[room.Line, room.Line]) error {
	for {
		line, err := stream.Recv(ctx)
		if err == io.EOF {
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

func (hall) Tell(context.Context, *rpc.ClientStreamingServer[room.Line]) (*room.Heard, error) {
	return nil, &room.NoSuchRoom{Name: "nowhere"}
}

// Age and Seen are those of the service Users.
func (hall) Age(context.Context, string) (int64, error) { return 36, nil }
func (hall) Seen(context.Context, string) error         { return nil }

// served is a client of a served hall.
type served struct {
	room  *room.RoomClient
	users *users.UsersClient
	asked <-chan struct{}
}

func serve(t *testing.T, carrier string, opts ...breezeway.ServerOption) served {
	t.Helper()
	asked := make(chan struct{}, 1)
	var server rpc.Server
	server.Observe(breezewayotel.Server)
	room.RegisterRoom(&server, hall{asked})
	users.RegisterUsers(&server, hall{})
	address := carrier + ":" + t.TempDir() + "/room"
	if err := server.Listen(address, opts...); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve() }()
	client := clientOf(t, address)
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return served{room.NewRoomClient(client), users.NewUsersClient(client), asked}
}

func clientOf(t *testing.T, address string) *rpc.Client {
	client := rpc.NewClient(address)
	client.Observe(breezewayotel.Client)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func line(text string) *room.Line { return &room.Line{From: "Ada", Text: text} }

// listened receives the messages of a stream until its end.
func listened(ctx context.Context, client *room.RoomClient, text string) error {
	stream, err := client.Listen(ctx, line(text))
	for err == nil {
		_, err = stream.Recv(ctx)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func TestBothEndsOfCallsAndStreamsJoinTheCallersTrace(t *testing.T) {
	for _, carrier := range []string{"shm", "unix"} {
		s := serve(t, carrier)
		for name, call := range map[string]func(ctx context.Context) error{
			"Room/say": func(ctx context.Context) error {
				_, err := s.room.Say(ctx, line(""))
				return err
			},
			"Room/listen": func(ctx context.Context) error { return listened(ctx, s.room, "") },
		} {
			all := traced(t, 3, func(ctx context.Context) {
				if err := call(ctx); err != nil {
					t.Error(err)
				}
			})
			client, server := all.ends(t, name)
			isOk(t, client)
			isOk(t, server)
			if found := attribute(server, "breezeway.carrier"); found != carrier {
				t.Errorf("the carrier is %q, not %s", found, carrier)
			}
			if work := all.child(t, server); work.Name != "work" {
				t.Errorf("%v is a child of %s", work, name)
			}
		}
	}
}

func TestFailureMarksBothSpansAndDeclaredExceptionNone(t *testing.T) {
	s := serve(t, "shm")
	for name, call := range map[string]func(ctx context.Context, text string) error{
		"Room/say": func(ctx context.Context, text string) error {
			_, err := s.room.Say(ctx, line(text))
			return err
		},
		"Room/listen": func(ctx context.Context, text string) error {
			return listened(ctx, s.room, text)
		},
	} {
		failing := func(text string) (client, server *spans.Span) {
			all := traced(t, 2, func(ctx context.Context) {
				if call(ctx, text) == nil {
					t.Errorf("%s %s has not failed", name, text)
				}
			})
			return all.ends(t, name)
		}
		client, server := failing("fail")
		isFailed(t, client, "Failed", "on purpose")
		isFailed(t, server, "Failed", "on purpose")
		client, server = failing("nowhere")
		isOk(t, client)
		isOk(t, server)
		client, server = failing("panic")
		isFailed(t, client, "Failed", client.Status.GetMessage())
		isFailed(t, server, "Failed", "breezeway: the call failed: panicked")
	}
}

func TestBothEndsRecordDurations(t *testing.T) {
	before, ctx := durations(t), context.Background()
	s := serve(t, "shm")
	_, err := s.room.Say(ctx, line(""))
	talk, opening := s.room.Talk(ctx) // No other test has one that does not fail.
	if err = errors.Join(err, opening); err == nil {
		err = talk.CloseSend()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err = talk.Recv(ctx); err != io.EOF {
		t.Error(err)
	}
	if _, err = s.room.Say(ctx, line("fail")); err == nil {
		t.Error("it has not failed")
	}
	var wanted []duration
	for _, name := range []string{"rpc.client.call.duration", "rpc.server.call.duration"} {
		wanted = append(wanted, duration{name, "s", "breezeway", "Room/say", ""},
			duration{name, "s", "breezeway", "Room/say", "Failed"},
			duration{name, "s", "breezeway", "Room/talk", ""})
	}
	after := durations(t)
	isMissing := func(d duration) bool { return after[d] == before[d] }
	// A server records after its client has the reply.
	for end := time.Now().Add(time.Minute); slices.ContainsFunc(wanted, isMissing) &&
		time.Now().Before(end); after = durations(t) {
		time.Sleep(time.Millisecond)
	}
	for _, of := range wanted {
		if count := after[of] - before[of]; count != 1 {
			t.Errorf("%d of %v", count, of)
		}
	}
}

func TestCancellationIsAFailureOfBothSpans(t *testing.T) {
	s := serve(t, "shm")
	client, server := traced(t, 2, func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			<-s.asked
			cancel()
		}()
		_, _ = s.room.Say(ctx, line("never"))
	}).ends(t, "Room/say")
	isFailed(t, client, "Cancelled", client.Status.GetMessage())
	isFailed(t, server, "Cancelled", server.Status.GetMessage())
	client, server = traced(t, 2, func(ctx context.Context) {
		talk, err := s.room.Talk(ctx)
		if err == nil {
			err = talk.Send(ctx, line("hi"))
		}
		if err == nil {
			_, err = talk.Recv(ctx)
		}
		if err = errors.Join(err, talk.Close()); err != nil {
			t.Error(err)
		}
	}).ends(t, "Room/talk")
	isFailed(t, client, "Cancelled", client.Status.GetMessage())
	isFailed(t, server, "Cancelled", server.Status.GetMessage())
}

func TestSpansOfAOneWayMessageAreNotLinked(t *testing.T) {
	s := serve(t, "shm")
	all := traced(t, 1, func(ctx context.Context) {
		if err := s.users.Seen(ctx, "Ada"); err != nil {
			t.Error(err)
		}
	})
	isCall(t, all.child(t, all.root(t)), "Users/seen", spans.Span_SPAN_KIND_CLIENT)
	received.wait(t, 1, func(span *spans.Span) bool {
		return span.Name == "Users/seen" && span.Kind == spans.Span_SPAN_KIND_SERVER &&
			len(span.ParentSpanId) == 0
	})
}

func TestBrokenTraceparentBeginsAnotherTrace(t *testing.T) {
	s := serve(t, "unix")
	traced(t, 1, func(ctx context.Context) {
		ctx = rpc.WithMetadata(ctx, "traceparent", "00-of-no-trace")
		if _, err := s.users.Age(ctx, "Ada"); err != nil {
			t.Error(err)
		}
	})
	received.wait(t, 1, func(span *spans.Span) bool {
		return span.Name == "Users/age" && span.Kind == spans.Span_SPAN_KIND_SERVER &&
			len(span.ParentSpanId) == 0
	})
}

func TestServerWithoutMetadataIsCalledWithoutTrace(t *testing.T) {
	s := serve(t, "shm", breezeway.WithMaxMetadata(0))
	all := traced(t, 1, func(ctx context.Context) {
		if _, err := s.room.Say(ctx, line("")); err != nil {
			t.Error(err)
		}
	})
	isOk(t, all.child(t, all.root(t)))
}

func TestMetadataIsThatOfTheW3C(t *testing.T) {
	address, sent := "unix:"+t.TempDir()+"/room", make(chan string, 1)
	var server rpc.Server
	server.Observe(func(ctx context.Context, _ rpc.Method) (context.Context, func(error)) {
		value, _ := rpc.Metadata(ctx, "traceparent")
		sent <- value
		return ctx, func(error) {}
	})
	room.RegisterRoom(&server, hall{})
	if err := server.Listen(address); err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()
	client := room.NewRoomClient(clientOf(t, address))
	all := traced(t, 1, func(ctx context.Context) {
		if _, err := client.Say(ctx, line("")); err != nil {
			t.Error(err)
		}
	})
	call := all.child(t, all.root(t))
	expected := fmt.Sprintf("00-%x-%x-01", call.TraceId, call.SpanId)
	if value := <-sent; value != expected {
		t.Errorf("%q, and not %q", value, expected)
	}
}
