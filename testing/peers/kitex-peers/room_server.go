package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/gopkg/protocol/thrift"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/streaming"
	"github.com/cloudwego/kitex/server"

	"breezeway/testing/peers/kitex/kitex_gen/room"
	talked "breezeway/testing/peers/kitex/kitex_gen/room/room"
)

// hall is the room, which prints on standard output whose stream was cancelled.
type hall struct{}

func serveRoom(at net.Addr) {
	listener, err := net.Listen(at.Network(), at.String())
	must("listen", err)
	if unix, ok := listener.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(true)
	}
	fmt.Printf("%s:%s\n", listener.Addr().Network(), listener.Addr())
	must("serve", talked.NewServer(&hall{}, server.WithListener(listener)).Run())
}

// greet answers metadata with metadata.
func greet(ctx context.Context, stream streaming.ServerStream) {
	if name, ok := metainfo.GetValue(ctx, "name"); ok {
		must("header", stream.SetHeader(streaming.Header{"greeting": "hello " + name}))
	}
}

func (hall) Listen(ctx context.Context, wanted *room.Line, stream room.Room_listenServer) error {
	greet(ctx, stream)
	switch wanted.Text {
	case "forged":
		return thrift.NewApplicationException(77, "no such coupon")
	case "refused":
		extra := map[string]string{"since": "\"May\""}
		return kerrors.NewBizStatusErrorWithExtra(410, "too late", extra)
	case "nowhere":
		return &room.NoSuchRoom{Name: wanted.From}
	case "endless":
		for number := 0; ; number++ {
			line := &room.Line{From: wanted.From, Text: strconv.Itoa(number)}
			if err := stream.Send(ctx, line); err != nil || ctx.Err() != nil {
				fmt.Println("cancelled")
				return nil
			}
		}
	}
	count, err := strconv.Atoi(wanted.Text)
	if err != nil {
		return err
	}
	for number := 0; number < count; number++ {
		line := &room.Line{From: wanted.From, Text: strconv.Itoa(number)}
		if err := stream.Send(ctx, line); err != nil {
			return err
		}
	}
	return stream.SetTrailer(streaming.Trailer{"said": "all"})
}

func (hall) Tell(ctx context.Context, stream room.Room_tellServer) error {
	greet(ctx, stream)
	heard := &room.Heard{}
	for {
		line, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) || err == nil && line.Text == "enough" {
			return stream.SendAndClose(ctx, heard)
		}
		if err != nil {
			fmt.Println("cancelled")
			return err
		}
		heard.Lines++
		heard.Bytes += int64(len(line.Text))
	}
}

func (hall) Talk(ctx context.Context, stream room.Room_talkServer) error {
	greet(ctx, stream)
	for {
		line, err := stream.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return stream.Send(ctx, &room.Line{From: "room", Text: "bye"})
		}
		if err != nil {
			fmt.Println("cancelled")
			return err
		}
		if err := stream.Send(ctx, line); err != nil {
			return err
		}
	}
}

func (hall) Say(_ context.Context, line *room.Line) (*room.Line, error) { return line, nil }
