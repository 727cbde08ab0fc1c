package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cloudwego/shmipc-go"
)

// server answers every stream in its role and counts them.
type server struct {
	handle  func(*shmipc.Stream) error
	streams atomic.Uint64
}

func (s *server) OnNewStream(stream *shmipc.Stream) {
	s.streams.Add(1)
	// The event loop of the whole process waits for the end of this function.
	go func() {
		defer stream.Close()
		if err := s.handle(stream); err != nil {
			fmt.Fprintf(os.Stderr, "shmipc-go: stream %d failed: %v\n", stream.StreamID(), err)
		}
	}()
}

func (s *server) OnShutdown(string) {}

func serve(arguments []string) error {
	var told settings
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	told.register(flags)
	role := flags.String("role", "echo", "what to do with a stream: echo, sink (report what came), source (send --amount bytes and close) or callbacks (echo from the library's callbacks)")
	amount := flags.Int("amount", 0, "bytes that a source sends")
	flags.Parse(arguments)

	config, err := told.listenerConfig()
	if err != nil {
		return err
	}
	answering := &server{}
	var callback shmipc.ListenCallback = answering
	switch *role {
	case "echo":
		answering.handle = echo
	case "sink":
		answering.handle = sink
	case "source":
		answering.handle = func(stream *shmipc.Stream) error { return source(stream, *amount) }
	case "callbacks":
		callback = &callbackServer{}
	default:
		return fmt.Errorf("no role %q", *role)
	}
	listener, err := shmipc.NewListener(callback, config)
	if err != nil {
		return err
	}
	// After a hot restart the path belongs to the next server.
	listener.SetUnlinkOnClose(false)
	endOnSignal(told.path)
	told.announce(listener)
	go func() {
		obey(listener, answering)
		if told.tied {
			os.Exit(0)
		}
	}()
	// Returns when the listener was closed, which does not end a process that still serves.
	_ = listener.Run()
	select {}
}

func endOnSignal(path string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		os.Remove(path)
		os.Exit(0)
	}()
}

// obey executes the lines of the standard input.
func obey(listener *shmipc.Listener, answering *server) {
	for words := range commands() {
		switch words[0] {
		case "streams":
			fmt.Printf("streams %d\n", answering.streams.Load())
		case "hot-restart":
			if err := hotRestart(listener, words[1]); err != nil {
				fmt.Printf("failed: %v\n", err)
			} else {
				fmt.Println("restarted")
			}
		case "close":
			listener.Close()
			fmt.Println("closed")
		}
	}
}

func hotRestart(listener *shmipc.Listener, word string) error {
	epoch, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		return err
	}
	if err := listener.HotRestart(epoch); err != nil {
		return err
	}
	for !listener.IsHotRestartDone() {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// echo returns the bytes of a stream as they come, until the peer closes it.
func echo(stream *shmipc.Stream) error {
	for {
		bytes, err := readAvailable(stream)
		if err != nil || bytes == nil {
			return err
		}
		if _, err := stream.BufferWriter().WriteBytes(bytes); err != nil {
			return err
		}
		if err := flush(stream); err != nil {
			return err
		}
		stream.ReleaseReadAndReuse()
	}
}

// sink reports the bytes that came over a stream before its end.
func sink(stream *shmipc.Stream) error {
	var received []byte
	for {
		bytes, err := readAvailable(stream)
		if err != nil {
			return err
		}
		if bytes == nil {
			break
		}
		received = append(received, bytes...)
		stream.BufferReader().ReleasePreviousRead()
	}
	state := "damaged"
	if matches(received, 0) {
		state = "intact"
	}
	fmt.Printf("received %d %s\n", len(received), state)
	return nil
}

// source answers the first byte of a stream with amount bytes, and closes it.
func source(stream *shmipc.Stream, amount int) error {
	if _, err := readAvailable(stream); err != nil {
		return err
	}
	stream.BufferReader().ReleasePreviousRead()
	bytes := make([]byte, amount)
	fill(bytes, 0)
	if _, err := stream.BufferWriter().WriteBytes(bytes); err != nil {
		return err
	}
	return flush(stream)
}

// readAvailable waits for bytes and gives all that there are; nil at the end of the stream.
func readAvailable(stream *shmipc.Stream) ([]byte, error) {
	reader := stream.BufferReader()
	_, err := reader.Peek(1)
	if errors.Is(err, shmipc.ErrEndOfStream) || errors.Is(err, shmipc.ErrStreamClosed) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return reader.ReadBytes(reader.Len())
}

// flush sends what was written. A full queue should not lose it, but the library drops the bytes
// then, so that the loss can only be reported.
func flush(stream *shmipc.Stream) error {
	err := stream.Flush(false)
	if errors.Is(err, shmipc.ErrStreamClosed) {
		return nil
	}
	return err
}

// callbackServer echoes from the library's own callbacks, as upstream's asynchronous example does.
type callbackServer struct{}

func (callbackServer) OnNewStream(stream *shmipc.Stream) {
	_ = stream.SetCallbacks(&callbackEcho{stream})
}

func (callbackServer) OnShutdown(string) {}

type callbackEcho struct{ stream *shmipc.Stream }

func (c *callbackEcho) OnData(reader shmipc.BufferReader) {
	bytes, err := reader.ReadBytes(reader.Len())
	if err == nil {
		_, err = c.stream.BufferWriter().WriteBytes(bytes)
	}
	if err == nil {
		err = flush(c.stream)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "shmipc-go: stream %d failed: %v\n", c.stream.StreamID(), err)
	}
	c.stream.ReleaseReadAndReuse()
}

func (c *callbackEcho) OnLocalClose()  {}
func (c *callbackEcho) OnRemoteClose() {}
