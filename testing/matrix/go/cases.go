package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	patience = 20 * time.Second
	late     = 100 * time.Millisecond
	large    = 16<<20 - 1024
	many     = 500
	count    = 100
)

// line is a message of a stream.
type line struct {
	text   string
	number int32
}

// A client is one of the service Matrix.
type client interface {
	echo(ctx context.Context, text string) (string, error)
	mark(ctx context.Context, text string) error
	post(ctx context.Context, text string) error
	marks(ctx context.Context, text string) (int64, error)
	// absent calls a service that is not served.
	absent(ctx context.Context) error
	unary(ctx context.Context, one line) (line, error)
	listen(ctx context.Context, wanted line) (stream, error)
	tell(ctx context.Context) (stream, error)
	talk(ctx context.Context) (stream, error)
	// asking returns a context that sends a name, and a function that returns the greeting.
	asking(ctx context.Context) (context.Context, func() string)
	// describe returns "missing NAME", "STATUS MESSAGE", "unknown method" or "late".
	describe(err error) string
}

// A stream is one of any form. The end of its context cancels it.
type stream interface {
	send(ctx context.Context, one line) error
	closeSend(ctx context.Context) error
	recv(ctx context.Context) (line, error)
	// closeAndRecv ends the requests, and returns the one reply.
	closeAndRecv(ctx context.Context) (line, error)
	greeting(ctx context.Context) string
}

func expect(what string, got, wanted any) error {
	if got == wanted {
		return nil
	}
	return fmt.Errorf("%s: %.300q, not %.300q", what, fmt.Sprint(got), fmt.Sprint(wanted))
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// after returns next's error, unless there is an earlier one.
func after(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

func runCase(ctx context.Context, c client, name string) error {
	switch name {
	case "call":
		return echoed(ctx, c, "hello")
	case "void":
		return after(wrap("mark", c.mark(ctx, "void")), func() error { return noted(ctx, c, "void") })
	case "exception":
		_, err := c.echo(ctx, "missing")
		return described(c, err, "missing missing")
	case "business error":
		_, err := c.echo(ctx, "refused")
		return described(c, err, "410 too late")
	case "oneway":
		return after(wrap("post", c.post(ctx, "oneway")),
			func() error { return noted(ctx, c, "oneway") })
	case "unknown method":
		return after(described(c, c.absent(ctx), "unknown method"),
			func() error { return echoed(ctx, c, "next") })
	case "deadline":
		return lateCall(ctx, c, "deadline", late)
	case "deadline at handler":
		return lateHandler(ctx, c)
	case "cancel":
		return cancelled(ctx, c)
	case "metadata", "reply metadata":
		asking, greeting := c.asking(ctx)
		name0, err := c.echo(asking, "metadata")
		if err != nil {
			return wrap("echo", err)
		}
		if name == "metadata" {
			return expect("name", name0, "Ada")
		}
		return expect("greeting", greeting(), "hello Ada")
	case "16 MiB":
		return echoed(ctx, c, strings.Repeat("x", large))
	case "many":
		return manyCalls(ctx, c)
	case "unary stream":
		back, err := c.unary(ctx, line{"one", 1})
		return after(wrap("unary", err), func() error { return expect("line", back, line{"one", 2}) })
	case "restart", "kill":
		return replaced(ctx, c, name)
	}
	return streamCase(ctx, c, name)
}

func echoed(ctx context.Context, c client, text string) error {
	back, err := c.echo(ctx, text)
	if err != nil {
		return wrap("echo", err)
	}
	return expect("the text comes back", back == text, true)
}

func described(c client, err error, wanted string) error {
	if err == nil {
		return fmt.Errorf("no error, but %s", wanted)
	}
	if got := c.describe(err); got != wanted {
		return fmt.Errorf("%q (%w), not %q", got, err, wanted)
	}
	return nil
}

// noted waits until the server has counted an event.
func noted(ctx context.Context, c client, event string) error {
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(time.Millisecond) {
		switch n, err := c.marks(ctx, event); {
		case err != nil:
			return wrap("marks", err)
		case n > 0:
			return nil
		}
	}
	return fmt.Errorf("the server does not note %s", event)
}

// lateCall makes a call that the server does not answer in time, and another one.
func lateCall(ctx context.Context, c client, name string, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begun := time.Now()
	_, err := c.echo(limited, "wait:"+name)
	took := time.Since(begun)
	if took+time.Millisecond < limit { // TTHeader has the time in milliseconds.
		return fmt.Errorf("not late after %v: %v", took, err)
	}
	return after(described(c, err, "late"), func() error { return echoed(ctx, c, "next") })
}

// lateHandler makes late calls until one has reached its handler, which ends at the deadline: on a
// busy machine, a short time may pass before the server has the call.
func lateHandler(ctx context.Context, c client) error {
	for limit := late; limit < patience; limit *= 2 {
		if err := lateCall(ctx, c, "told", limit); err != nil {
			return err
		}
		switch n, err := c.marks(ctx, "begun:told"); {
		case err != nil:
			return wrap("marks", err)
		case n > 0:
			return noted(ctx, c, "ended:told")
		}
	}
	return errors.New("no call reaches its handler")
}

func cancelled(ctx context.Context, c client) error {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := c.echo(limited, "wait:cancel")
		ended <- err
	}()
	if err := noted(ctx, c, "begun:cancel"); err != nil {
		return err
	}
	cancel()
	if <-ended == nil {
		return errors.New("the cancelled call succeeds")
	}
	return noted(ctx, c, "ended:cancel")
}

func manyCalls(ctx context.Context, c client) error {
	ended := make(chan error, many)
	for n := range many {
		go func() { ended <- echoed(ctx, c, strings.Repeat(fmt.Sprint(n), n)) }()
	}
	var all []error
	for range many {
		if err := <-ended; err != nil && len(all) < 3 {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func streamCase(ctx context.Context, c client, name string) error {
	switch name {
	case "server stream":
		_, err := listened(ctx, c, count)
		return err
	case "client stream":
		return told(ctx, c)
	case "two-way stream":
		return talked(ctx, c)
	case "stream exception":
		return ended(ctx, c, line{"missing", 1}, "missing missing")
	case "stream business error":
		// Kitex's client may lose the messages in front of one.
		return ended(ctx, c, line{text: "refused"}, "410 too late")
	case "stream metadata":
		asking, _ := c.asking(ctx)
		greeting, err := listened(asking, c, 1)
		return after(err, func() error { return expect("greeting", greeting, "hello Ada") })
	case "stream cancelled":
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		s, err := c.listen(limited, line{text: "endless:stream"})
		if err == nil {
			_, err = s.recv(limited)
		}
		cancel()
		return after(wrap("listen", err), func() error { return noted(ctx, c, "ended:stream") })
	}
	return fmt.Errorf("no case %s", name)
}

// listened receives so many lines, and returns the greeting that comes with them.
func listened(ctx context.Context, c client, lines int32) (string, error) {
	s, err := c.listen(ctx, line{"lines", lines})
	if err != nil {
		return "", wrap("listen", err)
	}
	greeting := s.greeting(ctx)
	for n := range lines {
		got, err := s.recv(ctx)
		if err == nil {
			err = expect("line", got, line{"lines", n})
		}
		if err != nil {
			return "", wrap("receive", err)
		}
	}
	return greeting, isEnd(s.recv(ctx))
}

func isEnd(_ line, err error) error { return expect("end", err, io.EOF) }

// ended receives the lines, and the error behind them.
func ended(ctx context.Context, c client, asked line, wanted string) error {
	s, err := c.listen(ctx, asked)
	for n := int32(0); n < asked.number && err == nil; n++ {
		_, err = s.recv(ctx)
	}
	if err != nil {
		return wrap("listen", err)
	}
	_, err = s.recv(ctx)
	return described(c, err, wanted)
}

func told(ctx context.Context, c client) error {
	s, err := c.tell(ctx)
	for n := int32(0); n < count && err == nil; n++ {
		err = s.send(ctx, line{fmt.Sprint(n), n})
	}
	if err != nil {
		return wrap("tell", err)
	}
	sum, err := s.closeAndRecv(ctx)
	return after(wrap("finish", err), func() error {
		return expect("told", sum, line{fmt.Sprint(count - 1), count * (count - 1) / 2})
	})
}

func talked(ctx context.Context, c client) error {
	s, err := c.talk(ctx)
	if err != nil {
		return wrap("talk", err)
	}
	for n := range int32(count) {
		sent := line{strings.Repeat("x", int(1000*n)), n}
		if err := s.send(ctx, sent); err != nil {
			return wrap("send", err)
		}
		got, err := s.recv(ctx)
		if err == nil && (got.text != sent.text || got.number != n+1) {
			err = fmt.Errorf("line %d comes back as %d", n, got.number)
		}
		if err != nil {
			return wrap("receive", err)
		}
	}
	if err := s.closeSend(ctx); err != nil {
		return wrap("finish", err)
	}
	return isEnd(s.recv(ctx))
}

// replaced calls before and after another server replaces the first, which is killed during a call.
func replaced(ctx context.Context, c client, name string) error {
	if err := echoed(ctx, c, "before"); err != nil {
		return err
	}
	held := make(chan error, 1)
	if name == "kill" {
		go func() {
			_, err := c.echo(ctx, "wait:kill")
			held <- err
		}()
		if err := noted(ctx, c, "begun:kill"); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	if name == "kill" {
		select {
		case err := <-held:
			if err == nil {
				return errors.New("the call in flight succeeds")
			}
		case <-time.After(patience):
			return errors.New("the call in flight hangs")
		}
	}
	return echoed(ctx, c, "after")
}
