// The programs in Go of the service matrix: of generated code (go-rpc), of Kitex over Breezeway
// (go-kitex) and of Kitex alone (kitex).
//
//	matrix-go serve go-rpc ADDRESS           serves until standard input ends
//	matrix-go call kitex ADDRESS CASE        runs a client's case, and prints "ok"
package main

//go:generate go tool kitex -module breezeway/testing/matrix -streamx ../matrix.thrift

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/kitex/pkg/klog"
)

func main() {
	klog.SetLevel(klog.LevelFatal)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err := run(os.Args[1:]); err != nil {
		fmt.Println(strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 3 && arguments[0] == "serve":
		return serve(arguments[1], arguments[2])
	case len(arguments) >= 4 && arguments[0] == "call":
		client, err := clientOf(arguments[1], arguments[2], arguments[3])
		if err != nil {
			return err
		}
		if err := runCase(context.Background(), client, arguments[3]); err != nil {
			return err
		}
		fmt.Println("ok")
		return nil
	}
	return fmt.Errorf("matrix-go serve KIND ADDRESS | call KIND ADDRESS CASE")
}

func serve(kind, address string) error {
	events := &notes{counts: map[string]int64{}}
	switch kind {
	case "go-rpc":
		return serveRPC(address, events)
	case "kitex", "go-kitex":
		// Mostly, the client is the first to give up.
		events.linger = late
		return serveKitex(kind, address, events)
	}
	return fmt.Errorf("no server %s", kind)
}

func clientOf(kind, address, name string) (client, error) {
	switch kind {
	case "go-rpc":
		return newRPCClient(address), nil
	case "go-kitex", "kitex":
		return newKitexClient(kind, address, name)
	}
	return nil, fmt.Errorf("no client %s", kind)
}

// atEndOfInput calls stop once standard input has ended.
func atEndOfInput(stop func() error) {
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_ = stop()
}

// notes are the events of a server, each with its count.
type notes struct {
	mu     sync.Mutex
	counts map[string]int64
	linger time.Duration // of a handler whose context has ended
}

func (n *notes) add(event string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counts[event]++
}

func (n *notes) count(event string) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.counts[event]
}

// wait notes that a handler waits, and that its context has ended.
func (n *notes) wait(ctx context.Context, name string) error {
	n.add("begun:" + name)
	<-ctx.Done()
	n.add("ended:" + name)
	time.Sleep(n.linger)
	return ctx.Err()
}
