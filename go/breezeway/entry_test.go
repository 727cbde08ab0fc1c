package breezeway_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// entriesBack replies to each stream by its method: 1 with one entry that has everything, 2 with
// metadata alone, and then nothing until the client's end, 3 with a reset.
func entriesBack(_ context.Context, stream *breezeway.Stream) {
	ctx := context.Background()
	m, err := stream.Recv(ctx)
	body := [][]byte{m.Bytes(), []byte(" back")}
	m.Release()
	block, _ := stream.Metadata()
	switch stream.Method() {
	case 1:
		if err == nil {
			err = stream.SendEntry(ctx, breezeway.Entry{Metadata: block, Message: body, Last: true})
		}
	case 2:
		if err == nil {
			err = stream.SendEntry(ctx, breezeway.Entry{Metadata: block})
		}
		if err == nil {
			_, err = stream.Recv(ctx)
		}
		if errors.Is(err, io.EOF) {
			err = stream.SendEntry(ctx, breezeway.Entry{Metadata: []byte("late"), Last: true})
		}
	default:
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		stream.Reset(breezeway.CodeFailed)
	}
}

func TestEntryOpensStreamWithAllOfIt(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn, ctx := dial(t, goServer(t, carrier, echoes, entriesBack)), within(t, time.Minute)
		for _, size := range []int{0, 1, 90, 104, 105, 5000} {
			sent := pattern(size, 1)
			stream, err := conn.OpenEntry(ctx, 1, breezeway.Entry{Metadata: []byte("head"),
				Message: [][]byte{sent[:size/2], sent[size/2:]}, Last: true})
			if err != nil {
				t.Fatal(err)
			}
			block, isLast, err := stream.AwaitMetadata(ctx)
			if string(block) != "head" || !isLast || err != nil {
				t.Fatalf("%q, %v, %v", block, isLast, err)
			}
			m, err := stream.Recv(ctx)
			if err != nil || !bytes.Equal(m.Bytes(), append(sent, " back"...)) {
				t.Fatalf("%d bytes: %q, %v", size, m.Bytes(), err)
			}
			m.Release()
			if _, err := stream.Recv(ctx); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if err := stream.Send(ctx, nil); !errors.Is(err, io.ErrClosedPipe) {
				t.Fatalf("behind the end: %v", err)
			}
		}
	})
}

func TestMetadataIsAwaitedBeforeTheFirstMessage(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn, ctx := dial(t, goServer(t, carrier, echoes, entriesBack)), within(t, time.Minute)
		stream, err := conn.OpenEntry(ctx, 2, breezeway.Entry{Metadata: []byte("head"),
			Message: [][]byte{{1}}})
		if err != nil {
			t.Fatal(err)
		}
		block, isLast, err := stream.AwaitMetadata(ctx)
		if string(block) != "head" || isLast || err != nil {
			t.Fatalf("%q, %v, %v", block, isLast, err)
		}
		if err := stream.SendEntry(ctx, breezeway.Entry{Last: true}); err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv(ctx)
		if last := stream.Trailer(); !errors.Is(err, io.EOF) || string(last) != "late" {
			t.Fatalf("%v, %q", err, last)
		}
	})
}

func TestEntryWithMetadataInTheMiddleIsRefused(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn, ctx := dial(t, goServer(t, carrier, echoes, bounce)), within(t, time.Minute)
		stream, err := conn.OpenEntry(ctx, 0, breezeway.Entry{})
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range []breezeway.Entry{{}, {Metadata: []byte("m")},
			{Metadata: []byte("m"), Message: [][]byte{{1}}}} {
			if err := stream.SendEntry(ctx, entry); err == nil {
				t.Errorf("%v is sent", entry)
			}
		}
		// The stream is still open.
		last := breezeway.Entry{Message: [][]byte{{7}}, Last: true}
		if err := stream.SendEntry(ctx, last); err != nil {
			t.Fatal(err)
		}
		if m, err := stream.Recv(ctx); err != nil || m.Len() != 1 {
			t.Fatal(err)
		}
	})
}

func TestAwaitedMetadataEndsWithStreamContextAndSession(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn, ctx := dial(t, goServer(t, carrier, echoes, entriesBack)), within(t, time.Minute)
		stream, err := conn.OpenEntry(ctx, 3, breezeway.Entry{Message: [][]byte{{1}}})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = stream.AwaitMetadata(ctx)
		if code, is := breezeway.IsReset(err); !is || code != breezeway.CodeFailed {
			t.Errorf("a reset: %v", err)
		}
		if stream, err = conn.Open(ctx, 1); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithCancel(ctx)
		cancel()
		if _, _, err = stream.AwaitMetadata(short); !errors.Is(err, context.Canceled) {
			t.Errorf("the end of a context: %v", err)
		}
		_ = conn.Close()
		if _, _, err = stream.AwaitMetadata(ctx); !errors.Is(err, breezeway.ErrClosed) {
			t.Errorf("the end of the session: %v", err)
		}
	})
}

func TestEntryThatWasNotSentHasNotRun(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn, ctx := dial(t, goServer(t, carrier, echoes, bounce)), within(t, time.Minute)
		long := breezeway.Entry{Metadata: make([]byte, 1<<16-1)}
		_, err := conn.OpenEntry(ctx, 0, long)
		if breezeway.MayHaveRun(err) || !errors.As(err, new(*breezeway.TooMuchMetadataError)) {
			t.Errorf("%v", err)
		}
		_ = conn.Close()
		_, err = conn.OpenEntry(ctx, 0, breezeway.Entry{})
		if breezeway.MayHaveRun(err) || !errors.Is(err, breezeway.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

// dialForeign connects to a server of the protocol "test".
func dialForeign(t *testing.T, address string) net.Conn {
	t.Helper()
	list, err := breezeway.ParseAddresses(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := breezeway.DialForeign(within(t, time.Minute), list[0], append(
		[]breezeway.DialOption{breezeway.WithForeignProtocol("test")}, dials()...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestServerOfAnotherProtocolIsDialledAndNamed(t *testing.T) {
	for _, carrier := range []string{"unix", "tcp", "tls"} {
		t.Run(carrier, func(t *testing.T) {
			listener := listenForeign(t, carrier)
			go echoAll(listener)
			address := listener.Addr().String()
			conn := dialForeign(t, address)
			bounces(t, conn, "of another protocol")
			peer := conn.(interface{ Peer() breezeway.Peer }).Peer()
			if peer.Known != (carrier == "unix") || (peer.Identity != nil) != (carrier == "tls") {
				t.Errorf("%+v", peer)
			}
		})
	}
	if _, err := breezeway.DialForeign(within(t, time.Minute),
		breezeway.Address{Carrier: breezeway.Shm, Path: "/nowhere"}); err == nil {
		t.Error("shared memory has no other protocol")
	}
}

func TestDialReturnsForeignErrorForOtherProtocols(t *testing.T) {
	for name, reply := range map[string]string{"other bytes": "HTTP/1.1 400 Bad Request\r\n\r\n",
		"no bytes": ""} {
		path := t.TempDir() + "/s"
		listener, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte(reply))
				_ = conn.Close()
			}
		}()
		_, err = breezeway.Dial(within(t, time.Minute), "unix:"+path)
		if !errors.As(err, new(*breezeway.ForeignError)) {
			t.Errorf("%s: %v", name, err)
		}
		_, err = breezeway.Dial(within(t, time.Minute), "shm:"+path)
		if err == nil || errors.As(err, new(*breezeway.ForeignError)) {
			t.Errorf("%s, at shm: %v", name, err)
		}
		_, err = breezeway.Dial(within(t, time.Minute), "unix:"+path+".none")
		if err == nil || errors.As(err, new(*breezeway.ForeignError)) {
			t.Errorf("no server: %v", err)
		}
	}
}

func TestListenerAcceptsStreamsThatAreOffered(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		ready := make(chan struct{})
		var listener *breezeway.NetListener
		offers := func(ctx context.Context, stream *breezeway.Stream) {
			if <-ready; stream.Method() == 0 {
				listener.Offer(stream)
			} else {
				bounce(ctx, stream)
			}
		}
		listener, err := breezeway.ListenNet(addressOf(t, carrier), nil,
			serves(breezeway.WithStreamHandler(offers))...)
		if err != nil {
			t.Fatal(err)
		}
		close(ready)
		defer listener.Close()
		go echoAll(listener)
		conn, ctx := dial(t, listener.Addr().String()), within(t, time.Minute)
		offered, err := conn.DialNet(ctx)
		if err != nil {
			t.Fatal(err)
		}
		bounces(t, offered, strings.Repeat("offered", 1000))
		stream, err := conn.OpenEntry(ctx, 1, breezeway.Entry{Message: [][]byte{{1}}, Last: true})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := stream.Recv(ctx); err != nil || m.Len() != 1 {
			t.Fatal(err)
		}
	})
}

func TestDialReturnsForeignErrorForOtherProtocolsOfTLS(t *testing.T) {
	for _, protocols := range [][]string{{"h2"}, nil} {
		config := foreignTLS(t)
		config.NextProtos = protocols
		listener, err := tls.Listen("tcp", thisHost.String()+":0", config)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go func() {
					_, _ = io.ReadFull(conn, make([]byte, 8))
					_, _ = conn.Write([]byte("HTTP/2.0"))
					_ = conn.Close()
				}()
			}
		}()
		address := "tls:" + listener.Addr().String()
		_, err = breezeway.Dial(within(t, time.Minute), address, dials()...)
		if !errors.As(err, new(*breezeway.ForeignError)) {
			t.Errorf("%v: %v", protocols, err)
		}
	}
}
