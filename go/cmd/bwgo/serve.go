package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// Methods of `breezeway serve`.
const (
	echo        = 0
	hollow      = 1
	sink        = 2
	tally       = 3
	hollowBytes = 8
)

func serve(args []string) error {
	var s settings
	flags := newFlags("serve", &s)
	maxSessions := flags.Int("max-sessions", 4096, "the maximum number of sessions")
	var maxMemory, memoryOfUser optional
	flags.Var(&maxMemory, "max-memory", "the most shared memory of all clients, or none")
	flags.Var(&memoryOfUser, "max-memory-of-user",
		"the most memory of each user's clients, or none")
	mode := flags.String("socket-mode", "0600", "permission bits of the socket file, in octal")
	offload := flags.Int("offload", 0,
		"handlers that run concurrently in goroutines of their own; 0: in that of their session")
	takeOver := flags.Bool("take-over", false, "take over from a server that serves there already")
	admin := flags.String("admin", "", "`path` where servers that take over meet")
	drain := flags.Duration("drain", time.Second,
		"how long clients that have not moved are served once another server has taken over")
	if err := s.parse(flags, args); err != nil {
		return err
	}
	both, err := s.options()
	if err != nil {
		return err
	}
	bits, err := strconv.ParseUint(*mode, 8, 32)
	if err != nil {
		return fmt.Errorf("--socket-mode %q is not octal", *mode)
	}
	options := []breezeway.ServerOption{breezeway.WithMaxSessions(*maxSessions),
		breezeway.WithMaxMemory(uint64(maxMemory.size)),
		breezeway.WithMaxMemoryOfUser(uint64(memoryOfUser.size)),
		breezeway.WithSocketMode(uint32(bits)), breezeway.WithOffload(*offload),
		breezeway.WithTakeOver(*takeOver), breezeway.WithAdminSocket(*admin),
		breezeway.WithDrainTimeout(*drain), breezeway.WithStreamHandler(bounce)}
	for _, option := range both {
		options = append(options, option)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	server, err := breezeway.Listen(s.addr, new(sunk).handle, options...)
	if err != nil {
		return err
	}
	go func() {
		<-signals
		_ = server.Close()
	}()
	for i, address := range server.Addresses() {
		if i > 0 {
			fmt.Print(",")
		} else {
			fmt.Print("listening on ")
		}
		fmt.Print(address)
	}
	fmt.Println()
	if err := server.Serve(); !errors.Is(err, breezeway.ErrServerClosed) {
		return err
	}
	return nil
}

// sunk counts one-way messages.
type sunk struct{ count, sum atomic.Uint64 }

func (s *sunk) handle(_ context.Context, call *breezeway.Call) error {
	switch call.Method() {
	case echo:
		return call.Echo()
	case hollow:
		return s.hollow(call)
	case sink:
		sum, err := sumOf(call.Request())
		s.sum.Add(sum)
		s.count.Add(1)
		return err
	case tally:
		var reply [16]byte
		binary.LittleEndian.PutUint64(reply[:], s.count.Load())
		binary.LittleEndian.PutUint64(reply[8:], s.sum.Load())
		return call.Reply(reply[:])
	}
	return &breezeway.CallError{Code: breezeway.CodeNoSuchMethod}
}

// hollow replies with the length of the request, of which it copies the first 8 bytes.
func (*sunk) hollow(call *breezeway.Call) error {
	var few [hollowBytes]byte
	n, _ := call.Request().ReadAt(few[:], 0) // Fewer bytes if the request is shorter.
	if call.Request().Len() <= small {
		var reply [small]byte
		copy(reply[:], few[:n])
		return call.Reply(reply[:call.Request().Len()])
	}
	reply, err := call.Reserve(call.Request().Len())
	if err != nil {
		return err
	}
	if _, err := reply.Write(few[:n]); err != nil {
		return err
	}
	return call.ReplyReserved(reply)
}

// bounce echoes the messages of a stream.
func bounce(ctx context.Context, stream *breezeway.Stream) {
	for {
		m, err := stream.Recv(ctx)
		if err != nil {
			break
		}
		err = stream.SendMessage(ctx, &m)
		m.Release()
		if err != nil {
			return
		}
	}
	_ = stream.CloseSend() // Fails on a stream that was reset.
}

// sumOf returns the wrapping sum of a message as little-endian words, the last one padded with
// zeros.
func sumOf(m *breezeway.Message) (uint64, error) {
	var sum uint64
	var piece [4096]byte
	for at := 0; at < m.Len(); at += len(piece) {
		n := min(len(piece), m.Len()-at)
		if _, err := m.ReadAt(piece[:n], int64(at)); err != nil {
			return 0, err
		}
		sum += sumWords(piece[:n])
	}
	return sum, nil
}

func sumWords(bytes []byte) (sum uint64) {
	for ; len(bytes) >= 8; bytes = bytes[8:] {
		sum += binary.LittleEndian.Uint64(bytes)
	}
	var last [8]byte
	copy(last[:], bytes)
	return sum + binary.LittleEndian.Uint64(last[:])
}
