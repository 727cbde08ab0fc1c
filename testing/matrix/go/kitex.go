package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/bytedance/gopkg/cloud/metainfo"
	kitexclient "github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/client/callopt"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/streaming"
	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/transport"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"

	"breezeway/testing/matrix/kitex_gen/matrix"
	"breezeway/testing/matrix/kitex_gen/matrix/absent"
	called "breezeway/testing/matrix/kitex_gen/matrix/matrix"
)

// kitexService is the service with Kitex's code.
type kitexService struct{ *notes }

// path returns the socket of an address.
func path(address string) string {
	_, path, _ := strings.Cut(address, ":")
	return path
}

func serveKitex(kind, address string, events *notes) error {
	options := []server.Option{
		server.WithMetaHandler(transmeta.ServerTTHeaderHandler),
		server.WithMetaHandler(transmeta.MetainfoServerHandler),
		server.WithEnableContextTimeout(true),
	}
	if kind == "go-kitex" {
		options = append(options, breezewaykitex.Server(address))
	} else {
		_ = os.Remove(path(address)) // Of a server that was killed.
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path(address), Net: "unix"})
		if err != nil {
			return err
		}
		listener.SetUnlinkOnClose(true)
		options = append(options, server.WithListener(listener))
	}
	s := called.NewServer(&kitexService{events}, options...)
	ended := make(chan error, 1)
	go func() { ended <- s.Run() }()
	for { // Kitex does not report that it listens.
		conn, err := net.Dial("unix", path(address))
		if err == nil {
			_ = conn.Close()
			break
		}
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Millisecond):
		}
	}
	fmt.Println("listening")
	go atEndOfInput(s.Stop)
	return <-ended
}

func (s *kitexService) Echo(ctx context.Context, text string) (string, error) {
	if name, waits := strings.CutPrefix(text, "wait:"); waits {
		return "", s.wait(ctx, name)
	}
	switch text {
	case "metadata":
		name, _ := metainfo.GetValue(ctx, "name")
		metainfo.SendBackwardValue(ctx, "greeting", "hello "+name)
		return name, nil
	case "missing", "refused":
		return "", kitexFailure(text)
	}
	return text, nil
}

func kitexFailure(text string) error {
	switch text {
	case "missing":
		return &matrix.Missing{Name: text}
	case "refused":
		return kerrors.NewBizStatusError(410, "too late")
	}
	return nil
}

func (s *kitexService) Mark(_ context.Context, text string) error {
	s.add(text)
	return nil
}

func (s *kitexService) Post(_ context.Context, text string) error {
	s.add(text)
	return nil
}

func (s *kitexService) Marks(_ context.Context, text string) (int64, error) {
	return s.count(text), nil
}

func (*kitexService) Unary(_ context.Context, one *matrix.Line) (*matrix.Line, error) {
	return kitexAnswer(one), nil
}

func kitexAnswer(one *matrix.Line) *matrix.Line {
	return &matrix.Line{Text: one.Text, Number: one.Number + 1}
}

func (s *kitexService) Listen(ctx context.Context, wanted *matrix.Line,
	stream matrix.Matrix_listenServer) error {
	if name, has := metainfo.GetValue(ctx, "name"); has {
		if err := stream.SetHeader(streaming.Header{"greeting": "hello " + name}); err != nil {
			return err
		}
	}
	if name, endless := strings.CutPrefix(wanted.Text, "endless:"); endless {
		defer s.add("ended:" + name)
		for {
			err := stream.Send(ctx, &matrix.Line{Text: wanted.Text})
			if err == nil {
				err = ctx.Err() // Sending alone may not return it.
			}
			if err != nil {
				return err
			}
		}
	}
	for n := range wanted.Number {
		if err := stream.Send(ctx, &matrix.Line{Text: wanted.Text, Number: n}); err != nil {
			return err
		}
	}
	return kitexFailure(wanted.Text)
}

func (*kitexService) Tell(ctx context.Context, stream matrix.Matrix_tellServer) error {
	told := new(matrix.Line)
	for {
		one, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(ctx, told)
		}
		if err != nil {
			return err
		}
		told.Text, told.Number = one.Text, told.Number+one.Number
	}
}

func (*kitexService) Talk(ctx context.Context, stream matrix.Matrix_talkServer) error {
	for {
		one, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = stream.Send(ctx, kitexAnswer(one))
		}
		if err != nil {
			return err
		}
	}
}

// kitexClient is a client with Kitex's code.
type kitexClient struct {
	matrix called.Client
	other  absent.Client
}

// newKitexClient returns a client for a case: without Breezeway, streams have a protocol of their
// own.
func newKitexClient(kind, address, name string) (client, error) {
	options := []kitexclient.Option{
		kitexclient.WithMetaHandler(transmeta.ClientTTHeaderHandler),
		kitexclient.WithMetaHandler(transmeta.MetainfoClientHandler),
	}
	if kind == "go-kitex" {
		options = append(options,
			breezewaykitex.Client(address, breezeway.WithWaitForServer(patience)))
	} else {
		protocol := transport.TTHeader
		if strings.Contains(name, "stream") && name != "unary stream" {
			protocol = transport.TTHeaderStreaming | transport.TTHeaderFramed
		}
		options = append(options, kitexclient.WithHostPorts(path(address)),
			kitexclient.WithTransportProtocol(protocol), kitexclient.WithConnectTimeout(patience))
	}
	c, err := called.NewClient("Matrix", options...)
	if err != nil {
		return nil, err
	}
	other, err := absent.NewClient("Absent", options...)
	return kitexClient{c, other}, err
}

func (c kitexClient) echo(ctx context.Context, text string) (string, error) {
	if deadline, has := ctx.Deadline(); has {
		return c.matrix.Echo(ctx, text, callopt.WithRPCTimeout(time.Until(deadline)))
	}
	return c.matrix.Echo(ctx, text)
}

func (c kitexClient) mark(ctx context.Context, text string) error { return c.matrix.Mark(ctx, text) }
func (c kitexClient) post(ctx context.Context, text string) error { return c.matrix.Post(ctx, text) }

func (c kitexClient) marks(ctx context.Context, text string) (int64, error) {
	return c.matrix.Marks(ctx, text)
}

func (c kitexClient) absent(ctx context.Context) error { return c.other.Nothing(ctx) }

func kitexLine(one line) *matrix.Line { return &matrix.Line{Text: one.text, Number: one.number} }

func ofKitex(one *matrix.Line, err error) (line, error) {
	if err != nil {
		return line{}, err
	}
	return line{one.Text, one.Number}, nil
}

func (c kitexClient) unary(ctx context.Context, one line) (line, error) {
	return ofKitex(c.matrix.Unary(ctx, kitexLine(one)))
}

// kitexStream is a stream of one form.
type kitexStream struct {
	server called.Matrix_listenClient
	client called.Matrix_tellClient
	both   called.Matrix_talkClient
}

func (c kitexClient) listen(ctx context.Context, wanted line) (stream, error) {
	s, err := c.matrix.Listen(ctx, kitexLine(wanted))
	return kitexStream{server: s}, err
}

func (c kitexClient) tell(ctx context.Context) (stream, error) {
	s, err := c.matrix.Tell(ctx)
	return kitexStream{client: s}, err
}

func (c kitexClient) talk(ctx context.Context) (stream, error) {
	s, err := c.matrix.Talk(ctx)
	return kitexStream{both: s}, err
}

func (s kitexStream) send(ctx context.Context, one line) error {
	if s.client != nil {
		return s.client.Send(ctx, kitexLine(one))
	}
	return s.both.Send(ctx, kitexLine(one))
}

func (s kitexStream) closeSend(ctx context.Context) error { return s.both.CloseSend(ctx) }

func (s kitexStream) recv(ctx context.Context) (line, error) {
	if s.server != nil {
		return ofKitex(s.server.Recv(ctx))
	}
	return ofKitex(s.both.Recv(ctx))
}

func (s kitexStream) closeAndRecv(ctx context.Context) (line, error) {
	return ofKitex(s.client.CloseAndRecv(ctx))
}

func (s kitexStream) greeting(context.Context) string {
	header, _ := s.server.Header()
	return header["greeting"]
}

func (c kitexClient) asking(ctx context.Context) (context.Context, func() string) {
	ctx = metainfo.WithBackwardValues(metainfo.WithValue(ctx, "name", "Ada"))
	return ctx, func() string {
		greeting, _ := metainfo.RecvBackwardValue(ctx, "greeting")
		return greeting
	}
}

func (c kitexClient) describe(err error) string {
	var missing *matrix.Missing
	if errors.As(err, &missing) {
		return "missing " + missing.Name
	}
	if business, is := kerrors.FromBizStatusError(err); is {
		return fmt.Sprint(business.BizStatusCode(), " ", business.BizMessage())
	}
	var exception *remote.TransError
	switch {
	case errors.As(err, &exception) && (exception.TypeID() == remote.UnknownMethod ||
		exception.TypeID() == remote.UnknownService):
		return "unknown method"
	case errors.Is(err, kerrors.ErrRPCTimeout),
		// With the deadline in TTHeader, the server may be the first to give up.
		errors.As(err, &exception) && strings.Contains(exception.Error(), "deadline"):
		return "late"
	}
	return ""
}
