// Command users is the service of docs/tutorial-streams.md in Go, without a library beside
// Breezeway's: its server, which clients in Rust call too, and its client, which calls a server in
// Rust as well.
//
//	users serve [ADDRESS]
//	users ask [ADDRESS]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/breezeway-ipc/breezeway/go/examples/users/gen/users"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

func main() {
	command, address := "", "shm:/tmp/users.sock"
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	if len(os.Args) > 2 {
		address = os.Args[2]
	}
	err := errors.New("users serve|ask [ADDRESS]")
	switch command {
	case "serve":
		err = serve(address)
	case "ask":
		err = ask(address, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve serves Users.
func serve(address string) error {
	var server rpc.Server
	users.RegisterUsers(&server, &table{watchers: map[chan *users.Visit]bool{}})
	if err := server.Listen(address); err != nil {
		return err
	}
	fmt.Println("listening on", server.Addresses())
	return server.Serve()
}

// table is the service.
type table struct {
	mu       sync.Mutex
	watchers map[chan *users.Visit]bool
}

// Age returns an age in years, and beside it the year of the table.
func (t *table) Age(ctx context.Context, name string) (int64, error) {
	rpc.SetReplyMetadata(ctx, "as-of", "1851")
	if name == "Ada" {
		return 36, nil
	}
	return 0, &users.NoSuchUser{Name: name}
}

// Seen passes a visit to the clients that watch. A slow one misses some.
func (t *table) Seen(_ context.Context, name string) error {
	visit := &users.Visit{Name: name}
	t.mu.Lock()
	defer t.mu.Unlock()
	for watcher := range t.watchers {
		select {
		case watcher <- visit:
		default:
		}
	}
	return nil
}

// Watch sends visits as they come, until the client ends the stream.
func (t *table) Watch(ctx context.Context, since *users.Visit,
	stream *rpc.ServerStreamingServer[users.Visit]) error {
	visits := make(chan *users.Visit, 64)
	t.mu.Lock()
	t.watchers[visits] = true
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.watchers, visits)
		t.mu.Unlock()
	}()
	// The client knows by it that it watches.
	err := stream.Send(ctx, since)
	for err == nil {
		select {
		case visit := <-visits:
			err = stream.Send(ctx, visit)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return err
}

// ask calls every method of Users, and prints the answers.
func ask(address string, to io.Writer) error {
	session := rpc.NewClient(address)
	defer session.Close()
	client, ctx := users.NewUsersClient(session), context.Background()
	var reply map[string]string
	age, err := client.Age(rpc.WithReplyMetadata(ctx, &reply), "Ada")
	if err != nil {
		return err
	}
	fmt.Fprintf(to, "Ada is %d\n", age)
	if year, has := reply["as-of"]; has {
		fmt.Fprintf(to, "as of %s\n", year)
	}

	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var missing *users.NoSuchUser
	if age, err = client.Age(soon, "Bob"); errors.As(err, &missing) {
		fmt.Fprintf(to, "no user is called %s\n", missing.Name)
	} else {
		fmt.Fprintf(to, "Bob is %d, %v\n", age, err)
	}

	visits, err := client.Watch(ctx, &users.Visit{Name: "nobody"})
	if err != nil {
		return err
	}
	defer visits.Close()
	if _, err := visits.Recv(ctx); err != nil { // We watch.
		return err
	}
	if err := client.Seen(ctx, "Ada"); err != nil {
		return err
	}
	visit, err := visits.Recv(ctx)
	if err == nil {
		fmt.Fprintf(to, "%s was here\n", visit.Name)
	}
	return err
}
