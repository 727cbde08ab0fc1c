package breezeway_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// numbered holds the options with numeric values by their names.
var numbered = map[string]func(value int64) any{
	"WithHandshakeTimeout": timed(breezeway.WithHandshakeTimeout),
	"WithCallTimeout":      timed(breezeway.WithCallTimeout),
	"WithReplyTimeout":     timed(breezeway.WithReplyTimeout),
	"WithDrainTimeout":     timed(breezeway.WithDrainTimeout),
	"WithWaitForServer":    timed(breezeway.WithWaitForServer),
	"WithReturnToFirst":    timed(breezeway.WithReturnToFirst),
	"WithCap":              sized(breezeway.WithCap),
	"WithPrefault":         sized(breezeway.WithPrefault),
	"WithMaxMemory":        sized(breezeway.WithMaxMemory),
	"WithMaxMemoryOfUser":  sized(breezeway.WithMaxMemoryOfUser),
	"WithRingCapacity":     func(v int64) any { return breezeway.WithRingCapacity(uint32(v)) },
	"WithStreamWindow": func(v int64) any {
		return breezeway.WithStreamWindow(uint32(v), uint64(v))
	},
	"WithMaxStreams":        counted(breezeway.WithMaxStreams),
	"WithMaxMetadata":       counted(breezeway.WithMaxMetadata),
	"WithService":           func(v int64) any { return breezeway.WithService(uint16(v)) },
	"WithOffload":           counted(breezeway.WithOffload),
	"WithMaxSessions":       counted(breezeway.WithMaxSessions),
	"WithMaxSessionsOfUser": counted(breezeway.WithMaxSessionsOfUser),
	"WithSocketMode":        func(v int64) any { return breezeway.WithSocketMode(uint32(v)) },
}

func timed[T any](option func(time.Duration) T) func(int64) any {
	return func(value int64) any { return option(time.Duration(value)) }
}

func sized[T any](option func(uint64) T) func(int64) any {
	return func(value int64) any { return option(uint64(value)) }
}

func counted[T any](option func(int) T) func(int64) any {
	return func(value int64) any { return option(int(value)) }
}

// listed returns the rows of the table of options in both languages.
func listed(t *testing.T) (lines [][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/vectors/options.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Fields(line))
		}
	}
	return lines
}

func TestOptionsHaveTheRangesOfTheList(t *testing.T) {
	refusal := func(name string, value int64) string {
		// Ranges are validated first; the folder does not exist.
		var err error
		switch option := numbered[name](value).(type) {
		case breezeway.ServerOption:
			_, err = breezeway.Listen("unix:/nowhere/at/all/s", echoes, option)
		case breezeway.DialOption:
			_, err = breezeway.Dial(context.Background(), "unix:/nowhere/at/all/s", option)
		}
		if err == nil || !strings.Contains(err.Error(), "option ") {
			return ""
		}
		return err.Error()
	}
	checked := 0
	for _, line := range listed(t) {
		name, least, most := line[5], line[3], line[4]
		if line[2] == "policy" || name == "-" {
			continue
		}
		if len(line) == 8 {
			least, most = line[6], line[7]
		}
		if numbered[name] == nil {
			t.Errorf("no option %s", name)
			continue
		}
		for bound, step := range map[string]int64{least: -1, most: 1} {
			value, err := strconv.ParseUint(bound, 10, 64)
			if err != nil {
				continue // There is none.
			}
			if text := refusal(name, int64(value)); text != "" {
				t.Errorf("%s = %s: %s", name, bound, text)
			}
			past := int64(value) + step
			if name == "WithService" || past < 0 && value == 0 && isUnsigned(name) {
				continue // The option's type cannot hold the value.
			}
			if text := refusal(name, past); !strings.Contains(text, "option "+name+" = ") {
				t.Errorf("%s = %d is allowed, or refused by %q", name, past, text)
			}
			checked++
		}
	}
	if checked < 25 {
		t.Errorf("%d bounds were checked", checked)
	}
}

func isUnsigned(name string) bool {
	switch name {
	case "WithMaxMemory", "WithMaxMemoryOfUser", "WithSocketMode":
		return true
	}
	return false
}

// setter matches the start of an option's method in Rust.
var setter = regexp.MustCompile(`pub fn ([a-z_]+)\(\s*mut self,`)

func TestTheListHasEveryOptionOfRust(t *testing.T) {
	known := map[string]bool{"session": true} // Shared by clients and servers.
	page, err := os.ReadFile("../../docs/go-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range listed(t) {
		known[line[0]+"."+line[1]] = true
		if line[5] == "-" && !strings.Contains(string(page), "`"+line[1]+"`") {
			t.Errorf("docs/go-reference.md does not say why Go has no %s", line[1])
		}
	}
	found := 0
	for _, owner := range []string{"session", "client", "server"} {
		text, err := os.ReadFile(filepath.Join("../../crates/breezeway/src/options", owner+".rs"))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range setter.FindAllStringSubmatch(string(text), math.MaxInt) {
			found++
			if match[1] != "session" && !known[owner+"."+match[1]] {
				t.Errorf("the list lacks %s of %s", match[1], owner)
			}
		}
	}
	if found < 30 {
		t.Errorf("%d options were found in Rust", found)
	}
}
