package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/transport"

	"breezeway/testing/peers/kitex/kitex_gen/room"
	talking "breezeway/testing/peers/kitex/kitex_gen/room/room"
)

// callRoom tries every kind of stream, all on one connection.
func callRoom(at net.Addr) {
	c := talking.MustNewClient("Room", client.WithHostPorts(at.String()),
		client.WithTransportProtocol(transport.TTHeaderStreaming|transport.TTHeaderFramed),
		client.WithConnectTimeout(10*time.Second))
	ctx := context.Background()

	everyForm(ctx, c)
	said, err := c.Say(ctx, &room.Line{From: "Ada", Text: "hi"})
	must("say", err)
	expect("say", said.Text, "hi")
	refused(ctx, c)

	named := metainfo.WithValue(ctx, "name", "Ada")
	lines, err := c.Listen(named, &room.Line{From: "hall", Text: "1"})
	must("listen", err)
	header, err := lines.Header()
	must("header", err)
	expect("greeting", header["greeting"], "hello Ada")
	expect("lines", count(ctx, lines), 1)
	trailer, err := lines.Trailer()
	must("trailer", err)
	expect("said", trailer["said"], "all")

	var all sync.WaitGroup
	for number := 0; number < 50; number++ {
		all.Add(1)
		go func() {
			defer all.Done()
			everyForm(ctx, c)
		}()
	}
	all.Wait()

	cancelled, cancel := context.WithCancel(ctx)
	talk, err := c.Talk(cancelled)
	must("talk", err)
	must("send", talk.Send(ctx, &room.Line{From: "Ada", Text: "1"}))
	_, err = talk.Recv(ctx)
	must("receive", err)
	cancel()
	if _, err = talk.Recv(cancelled); err == nil {
		log.Fatal("a cancelled stream continues")
	}
	everyForm(ctx, c)
	fmt.Println("all right")
}

func everyForm(ctx context.Context, c talking.Client) {
	lines, err := c.Listen(ctx, &room.Line{From: "hall", Text: "3"})
	must("listen", err)
	expect("lines", count(ctx, lines), 3)

	telling, err := c.Tell(ctx)
	must("tell", err)
	for _, text := range []string{"a", "bc"} {
		must("send", telling.Send(ctx, &room.Line{From: "Ada", Text: text}))
	}
	heard, err := telling.CloseAndRecv(ctx)
	must("tell", err)
	expect("heard", []int64{heard.Lines, heard.Bytes}, []int64{2, 3})

	talk, err := c.Talk(ctx)
	must("talk", err)
	for _, text := range []string{"a", strings.Repeat("x", 1<<20), ""} {
		must("send", talk.Send(ctx, &room.Line{From: "Ada", Text: text}))
		back, err := talk.Recv(ctx)
		must("receive", err)
		expect("back", back.Text == text, true)
	}
	must("finish", talk.CloseSend(ctx))
	bye, err := talk.Recv(ctx)
	must("bye", err)
	expect("bye", bye.Text, "bye")
	if _, err = talk.Recv(ctx); !errors.Is(err, io.EOF) {
		log.Fatalf("behind the end: %v", err)
	}
}

// count reads all lines, which are numbered.
func count(ctx context.Context, lines talking.Room_listenClient) (number int) {
	for {
		line, err := lines.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return number
		}
		must("receive", err)
		expect("line", line.Text, number)
		number++
	}
}

func refused(ctx context.Context, c talking.Client) {
	for text, words := range map[string]string{
		"forged": "no such coupon", "nowhere": "nowhere", "panic": "the handler panicked",
	} {
		lines, err := c.Listen(ctx, &room.Line{From: "hall", Text: text})
		must("listen", err)
		if _, err = lines.Recv(ctx); err == nil || !strings.Contains(err.Error(), words) {
			log.Fatalf("%s: %v", text, err)
		}
	}
	lines, err := c.Listen(ctx, &room.Line{From: "hall", Text: "refused"})
	must("listen", err)
	_, err = lines.Recv(ctx)
	status, ok := kerrors.FromBizStatusError(err)
	if !ok {
		log.Fatalf("refused: %v", err)
	}
	expect("status", status.BizStatusCode(), 410)
	expect("extra", status.BizExtra()["since"], "\"May\"")
}
