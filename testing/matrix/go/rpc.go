package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/rpc"

	"breezeway/testing/matrix/gen/matrix"
)

// rpcService is the service with generated code.
type rpcService struct{ *notes }

// rpcServer is the type of the two servers of streams of lines.
type rpcServer = rpc.BidiStreamingServer[matrix.Line, matrix.Line]

func serveRPC(address string, events *notes) error {
	var server rpc.Server
	matrix.RegisterMatrix(&server, rpcService{events})
	if err := server.Listen(address); err != nil {
		return err
	}
	fmt.Println("listening")
	// Shutdown would wait until idle clients have closed their sessions.
	go atEndOfInput(server.Close)
	if err := server.Serve(); !errors.Is(err, breezeway.ErrServerClosed) {
		return err
	}
	return nil
}

func (s rpcService) Echo(ctx context.Context, text string) (string, error) {
	if name, waits := strings.CutPrefix(text, "wait:"); waits {
		return "", s.wait(ctx, name)
	}
	switch text {
	case "metadata":
		return rpcGreet(ctx), nil
	case "missing", "refused":
		return "", rpcFailure(text)
	}
	return text, nil
}

func rpcGreet(ctx context.Context) string {
	name, has := rpc.Metadata(ctx, "name")
	if has {
		rpc.SetReplyMetadata(ctx, "greeting", "hello "+name)
	}
	return name
}

func rpcFailure(text string) error {
	switch text {
	case "missing":
		return &matrix.Missing{Name: text}
	case "refused":
		return &rpc.BusinessError{Status: 410, Message: "too late"}
	}
	return nil
}

func (s rpcService) Mark(_ context.Context, text string) error {
	s.add(text)
	return nil
}

func (s rpcService) Post(_ context.Context, text string) error {
	s.add(text)
	return nil
}

func (s rpcService) Marks(_ context.Context, text string) (int64, error) {
	return s.count(text), nil
}

func (rpcService) Unary(_ context.Context, one *matrix.Line) (*matrix.Line, error) {
	return rpcAnswer(one), nil
}

func rpcAnswer(one *matrix.Line) *matrix.Line {
	return &matrix.Line{Text: one.Text, Number: one.Number + 1}
}

func (s rpcService) Listen(ctx context.Context, wanted *matrix.Line,
	stream *rpc.ServerStreamingServer[matrix.Line]) error {
	rpcGreet(ctx)
	if name, endless := strings.CutPrefix(wanted.Text, "endless:"); endless {
		defer s.add("ended:" + name)
		for {
			if err := stream.Send(ctx, &matrix.Line{Text: wanted.Text}); err != nil {
				return err
			}
		}
	}
	for n := range wanted.Number {
		if err := stream.Send(ctx, &matrix.Line{Text: wanted.Text, Number: n}); err != nil {
			return err
		}
	}
	return rpcFailure(wanted.Text)
}

func (rpcService) Tell(ctx context.Context,
	stream *rpc.ClientStreamingServer[matrix.Line]) (*matrix.Line, error) {
	told := new(matrix.Line)
	for {
		one, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return told, nil
		}
		if err != nil {
			return nil, err
		}
		told.Text, told.Number = one.Text, told.Number+one.Number
	}
}

func (rpcService) Talk(ctx context.Context, stream *rpcServer) error {
	for {
		one, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = stream.Send(ctx, rpcAnswer(one))
		}
		if err != nil {
			return err
		}
	}
}

// rpcClient is a client with generated code.
type rpcClient struct {
	matrix *matrix.MatrixClient
	other  *matrix.AbsentClient
}

func newRPCClient(address string) client {
	c := rpc.NewClient(address, breezeway.WithWaitForServer(patience))
	return rpcClient{matrix.NewMatrixClient(c), matrix.NewAbsentClient(c)}
}

func (c rpcClient) echo(ctx context.Context, text string) (string, error) {
	return c.matrix.Echo(ctx, text)
}

func (c rpcClient) mark(ctx context.Context, text string) error { return c.matrix.Mark(ctx, text) }
func (c rpcClient) post(ctx context.Context, text string) error { return c.matrix.Post(ctx, text) }

func (c rpcClient) marks(ctx context.Context, text string) (int64, error) {
	return c.matrix.Marks(ctx, text)
}

func (c rpcClient) absent(ctx context.Context) error { return c.other.Nothing(ctx) }

func rpcLine(one line) *matrix.Line { return &matrix.Line{Text: one.text, Number: one.number} }

func ofRPC(one *matrix.Line, err error) (line, error) {
	if err != nil {
		return line{}, err
	}
	return line{one.Text, one.Number}, nil
}

func (c rpcClient) unary(ctx context.Context, one line) (line, error) {
	return ofRPC(c.matrix.Unary(ctx, rpcLine(one)))
}

// rpcStream is a stream of one form.
type rpcStream struct {
	server *rpc.ServerStreamingClient[matrix.Line]
	client *rpc.ClientStreamingClient[matrix.Line, matrix.Line]
	both   *rpc.BidiStreamingClient[matrix.Line, matrix.Line]
}

func (c rpcClient) listen(ctx context.Context, wanted line) (stream, error) {
	s, err := c.matrix.Listen(ctx, rpcLine(wanted))
	return rpcStream{server: s}, err
}

func (c rpcClient) tell(ctx context.Context) (stream, error) {
	s, err := c.matrix.Tell(ctx)
	return rpcStream{client: s}, err
}

func (c rpcClient) talk(ctx context.Context) (stream, error) {
	s, err := c.matrix.Talk(ctx)
	return rpcStream{both: s}, err
}

func (s rpcStream) send(ctx context.Context, one line) error {
	if s.client != nil {
		return s.client.Send(ctx, rpcLine(one))
	}
	return s.both.Send(ctx, rpcLine(one))
}

func (s rpcStream) closeSend(context.Context) error { return s.both.CloseSend() }

func (s rpcStream) recv(ctx context.Context) (line, error) {
	if s.server != nil {
		return ofRPC(s.server.Recv(ctx))
	}
	return ofRPC(s.both.Recv(ctx))
}

func (s rpcStream) closeAndRecv(ctx context.Context) (line, error) {
	return ofRPC(s.client.CloseAndRecv(ctx))
}

func (s rpcStream) greeting(ctx context.Context) string {
	header, _ := s.server.Header(ctx)
	return header["greeting"]
}

func (c rpcClient) asking(ctx context.Context) (context.Context, func() string) {
	var reply map[string]string
	ctx = rpc.WithReplyMetadata(rpc.WithMetadata(ctx, "name", "Ada"), &reply)
	return ctx, func() string { return reply["greeting"] }
}

func (c rpcClient) describe(err error) string {
	var (
		missing  *matrix.Missing
		business *rpc.BusinessError
	)
	switch {
	case errors.As(err, &missing):
		return "missing " + missing.Name
	case errors.As(err, &business):
		return fmt.Sprint(business.Status, " ", business.Message)
	case errors.Is(err, rpc.ErrUnknownMethod):
		return "unknown method"
	case errors.Is(err, context.DeadlineExceeded):
		return "late"
	}
	return ""
}
