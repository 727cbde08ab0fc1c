// Command bwgo serves an echo and measures it like `breezeway serve` and `breezeway bench`, with
// their flags, methods and JSON, so that a measurement can mix languages.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

const usage = `usage: bwgo serve|bench --addr ADDRESS [flags]

  bwgo serve --addr shm:/tmp/echo.sock
  bwgo serve --addr shm:/tmp/echo.sock,unix:/tmp/echo-unix.sock --wait busy --cpu 1
  bwgo bench --addr shm:/tmp/echo.sock --wait busy --size 40 --cpu 0
  bwgo bench --addr shm:/tmp/echo.sock --size 1MiB --touch none --count 100000 --json

bwgo serve -h and bwgo bench -h list the flags.`

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bwgo:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, usage)
		return errors.New("no command is named")
	}
	switch args[0] {
	case "serve":
		return serve(args[1:])
	case "bench":
		return bench(args[1:])
	case "-h", "--help", "help":
		fmt.Println(usage)
		return nil
	}
	return fmt.Errorf("no command %q\n%s", args[0], usage)
}
