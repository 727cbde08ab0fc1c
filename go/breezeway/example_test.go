package breezeway_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	address := "shm:" + filepath.Join(folder, "hello.sock")
	hello := func(_ context.Context, call *breezeway.Call) error {
		return call.Reply(append([]byte("hello, "), call.Request().Bytes()...))
	}
	server, err := breezeway.Listen(address, hello)
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()

	client := breezeway.NewClient(address)
	defer client.Close()
	reply, err := client.Call(context.Background(), 0, []byte("gopher"))
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Release()
	fmt.Printf("%s\n", reply.Bytes())
	// Output: hello, gopher
}

func ExampleSession_Reserve() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	address := "shm:" + filepath.Join(folder, "echo.sock")
	server, err := breezeway.Listen(address, func(_ context.Context, call *breezeway.Call) error {
		return call.Echo()
	})
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()

	ctx := context.Background()
	session, err := breezeway.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	// An encoder writes into the message itself.
	request, err := session.Reserve(ctx, 1000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(request, "%0990d", 7)
	reply, err := session.CallReserved(ctx, 0, request)
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Release()
	last := make([]byte, 3)
	if _, err := reply.ReadAt(last, 987); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes, %s\n", reply.Len(), last)
	// Output: 1000 bytes, 007
}

func ExampleSession_Open() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	address := "shm:" + filepath.Join(folder, "count.sock")
	count := func(ctx context.Context, stream *breezeway.Stream) {
		for i := range 3 {
			if stream.Send(ctx, []byte{byte('a' + i)}) != nil {
				return // The client is gone.
			}
		}
		_ = stream.CloseSend()
	}
	server, err := breezeway.Listen(address, nil, breezeway.WithStreamHandler(count))
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()

	ctx := context.Background()
	session, err := breezeway.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	stream, err := session.Open(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	for {
		message, err := stream.Recv(ctx)
		if err != nil { // io.EOF
			break
		}
		fmt.Printf("%s\n", message.Bytes())
		message.Release()
	}
	// Output:
	// a
	// b
	// c
}

// A server is replaced by another one while a client makes calls.
func ExampleWithTakeOver() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	address := "shm:" + filepath.Join(folder, "version.sock")
	serve := func(version string) *breezeway.Server {
		server, err := breezeway.Listen(address, func(_ context.Context,
			call *breezeway.Call) error {
			return call.Reply([]byte(version))
		}, breezeway.WithTakeOver(true))
		if err != nil {
			log.Fatal(err)
		}
		go func() { _ = server.Serve() }()
		return server
	}
	defer serve("1.0").Close()
	client := breezeway.NewClient(address)
	defer client.Close()
	ask := func() string {
		reply, err := client.Call(context.Background(), 0, nil)
		if err != nil {
			log.Fatal(err)
		}
		defer reply.Release()
		return string(reply.Bytes())
	}
	fmt.Println(ask())
	defer serve("1.1").Close()
	for ask() == "1.0" { // Until the second one has taken over.
	}
	fmt.Println(ask())
	// Output:
	// 1.0
	// 1.1
}

// A server opens a stream to the client that has made a call.
func ExampleCall_StreamOpener() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	address := "shm:" + filepath.Join(folder, "news.sock")
	subscribe := func(ctx context.Context, call *breezeway.Call) error {
		news, err := call.StreamOpener().Open(ctx, 0)
		if err != nil {
			return err
		}
		if err := news.Send(ctx, []byte("first news")); err != nil {
			return err
		}
		if err := news.CloseSend(); err != nil {
			return err
		}
		return call.Reply(nil)
	}
	server, err := breezeway.Listen(address, subscribe)
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()

	ctx := context.Background()
	session, err := breezeway.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Call(ctx, 0, nil); err != nil {
		log.Fatal(err)
	}
	news, err := session.AcceptStream(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer news.Close()
	message, err := news.Recv(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer message.Release()
	fmt.Printf("%s\n", message.Bytes())
	// Output: first news
}
