package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/shmipc-go"
)

// caller is a client with its sessions.
type caller struct {
	manager  *shmipc.SessionManager
	patience time.Duration
	verify   bool
}

// exchange describes what is sent and must come back: on each of several streams at once, every
// size in turn, all of that count times.
type exchange struct {
	sizes   []int
	streams int
	count   int
}

func client(arguments []string) error {
	var told settings
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	told.register(flags)
	sizes := flags.String("sizes", "64", "bytes of the messages, separated by commas")
	streams := flags.Int("streams", 1, "streams at the same time")
	count := flags.Int("count", 1, "how often each stream sends each size")
	verify := flags.Bool("verify", true, "compare every byte that comes back")
	interactive := flags.Bool("commands", false, "execute the lines of the standard input: exchange SIZES STREAMS COUNT, send SIZE, or drain SIZE")
	flags.Parse(arguments)

	manager, err := told.connect()
	if err != nil {
		return err
	}
	caller := &caller{manager, told.patience, *verify}
	if *interactive {
		fmt.Println("connected")
		for words := range commands() {
			caller.obey(words)
		}
		return manager.Close()
	}
	work, err := parseExchange(*sizes, *streams, *count)
	if err != nil {
		return err
	}
	bytes, err := caller.exchange(work)
	if err != nil {
		return err
	}
	fmt.Printf("done %d\n", bytes)
	return manager.Close()
}

func parseExchange(sizes string, streams, count int) (exchange, error) {
	work := exchange{streams: streams, count: count}
	for word := range strings.SplitSeq(sizes, ",") {
		size, err := strconv.Atoi(word)
		if err != nil {
			return work, err
		}
		work.sizes = append(work.sizes, size)
	}
	return work, nil
}

// obey executes a line and answers with a line.
func (c *caller) obey(words []string) {
	bytes, err := c.perform(words)
	if err != nil {
		// Of several streams, one line.
		fmt.Printf("failed: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	fmt.Printf("done %d\n", bytes)
}

func (c *caller) perform(words []string) (int, error) {
	numbers := make([]int, 3)
	for index, word := range words[1:] {
		numbers[index], _ = strconv.Atoi(word)
	}
	switch words[0] {
	case "exchange":
		work, err := parseExchange(words[1], numbers[1], numbers[2])
		if err != nil {
			return 0, err
		}
		return c.exchange(work)
	case "send":
		return c.send(numbers[0])
	case "drain":
		return c.drain(numbers[0])
	default:
		return 0, fmt.Errorf("no command %q", words[0])
	}
}

// exchange does the work and gives the number of bytes that came back.
func (c *caller) exchange(work exchange) (int, error) {
	var everyStreamWasAnswered sync.WaitGroup
	everyStreamWasAnswered.Add(work.streams)
	outcomes := make(chan error, work.streams)
	for number := range work.streams {
		go func() {
			answered := sync.OnceFunc(everyStreamWasAnswered.Done)
			// A stream that fails must not keep the others waiting.
			defer answered()
			outcomes <- c.exchangeOnOneStream(work, uint64(number), func() {
				answered()
				everyStreamWasAnswered.Wait()
			})
		}()
	}
	bytes := 0
	var failure error
	for range work.streams {
		failure = errors.Join(failure, <-outcomes)
	}
	for _, size := range work.sizes {
		bytes += size * work.count * work.streams
	}
	return bytes, failure
}

// exchangeOnOneStream calls afterFirst once the first answer has come.
func (c *caller) exchangeOnOneStream(work exchange, number uint64, afterFirst func()) error {
	stream, err := c.manager.GetStream()
	if err != nil {
		return err
	}
	defer c.manager.PutBack(stream)
	for round := range work.count {
		for _, size := range work.sizes {
			seed := seedOf(number<<32 | uint64(round)<<1 | 1)
			if err := c.roundTrip(stream, size, seed); err != nil {
				return fmt.Errorf("stream %d, round %d, %d bytes: %w", stream.StreamID(), round, size, err)
			}
			if afterFirst != nil {
				afterFirst()
				afterFirst = nil
			}
		}
	}
	return nil
}

func (c *caller) roundTrip(stream *shmipc.Stream, size int, seed uint64) error {
	message := make([]byte, size)
	fill(message, seed)
	if _, err := stream.BufferWriter().WriteBytes(message); err != nil {
		return err
	}
	if err := stream.Flush(false); err != nil {
		return err
	}
	stream.SetReadDeadline(time.Now().Add(c.patience))
	answer, err := stream.BufferReader().ReadBytes(size)
	if err != nil {
		return err
	}
	if c.verify && !matches(answer, seed) {
		return errors.New("the answer differs")
	}
	stream.ReleaseReadAndReuse()
	return nil
}

// send sends size bytes on a stream of their own and closes it at once.
func (c *caller) send(size int) (int, error) {
	stream, err := c.manager.GetStream()
	if err != nil {
		return 0, err
	}
	defer stream.Close()
	message := make([]byte, size)
	fill(message, 0)
	if _, err := stream.BufferWriter().WriteBytes(message); err != nil {
		return 0, err
	}
	return size, stream.Flush(false)
}

// drain asks a source for its bytes, and expects size of them and then the end of the stream.
func (c *caller) drain(size int) (int, error) {
	stream, err := c.manager.GetStream()
	if err != nil {
		return 0, err
	}
	defer stream.Close()
	if _, err := stream.BufferWriter().WriteBytes([]byte{1}); err != nil {
		return 0, err
	}
	if err := stream.Flush(false); err != nil {
		return 0, err
	}
	stream.SetReadDeadline(time.Now().Add(c.patience))
	answer, err := stream.BufferReader().ReadBytes(size)
	if err != nil {
		return 0, err
	}
	if !matches(answer, 0) {
		return 0, errors.New("the answer differs")
	}
	stream.BufferReader().ReleasePreviousRead()
	if rest, err := readAvailable(stream); err != nil || rest != nil {
		return 0, fmt.Errorf("expected the end of the stream, got %d bytes, error %v", len(rest), err)
	}
	return size, nil
}
