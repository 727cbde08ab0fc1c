// Command shmipc-go speaks shmipc with upstream's own library, so that Breezeway can be tested and
// measured against it. See bench/README.md.
package main

import (
	"bufio"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/cloudwego/shmipc-go"
)

const usage = `Usage:
  shmipc-go serve --path P [--role echo|sink|source|callbacks] ...
  shmipc-go client --path P --mode file|memfd --sizes 1,64 --streams N --count N [--commands] ...
  shmipc-go bench --path P --mode file|memfd --size B --streams N --seconds S ...
  shmipc-go hello-server --path P
  shmipc-go hello-client --path P --mode file|memfd

Each command explains itself with -help.`

// silent is above every level of the library's log, which it writes to the standard output.
const silent = 5

func main() {
	if os.Getenv("SHMIPC_LOG_LEVEL") == "" {
		shmipc.SetLogLevel(silent)
	}
	roles := map[string]func([]string) error{
		"serve":        serve,
		"client":       client,
		"bench":        bench,
		"hello-server": helloServer,
		"hello-client": helloClient,
	}
	if len(os.Args) < 2 || roles[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	if err := roles[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "shmipc-go: %v\n", err)
		os.Exit(1)
	}
}

// commands gives the words of each line of the standard input.
func commands() iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			words := strings.Fields(lines.Text())
			if len(words) > 0 && !yield(words) {
				return
			}
		}
	}
}
