package breezeway_test

import (
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
var numbered = map[string]func(value int64) breezeway.Option{
	"SpinBound": timed(breezeway.SpinBound), "ShrinkAfter": timed(breezeway.ShrinkAfter),
	"HandshakeTimeout": timed(breezeway.HandshakeTimeout),
	"CallTimeout":      timed(breezeway.CallTimeout), "ReplyTimeout": timed(breezeway.ReplyTimeout),
	"DrainTimeout": timed(breezeway.DrainTimeout), "WaitForServer": timed(breezeway.WaitForServer),
	"ReturnToFirst": timed(breezeway.ReturnToFirst),
	"Cap":           sized(breezeway.Cap),
	"Prefault":      sized(breezeway.Prefault),
	"UnderWay":      sized(breezeway.UnderWay), "MaxMemory": sized(breezeway.MaxMemory),
	"MaxMemoryOfUser": sized(breezeway.MaxMemoryOfUser),
	"RingCapacity":    func(v int64) breezeway.Option { return breezeway.RingCapacity(uint32(v)) },
	"StreamWindow": func(v int64) breezeway.Option {
		return breezeway.StreamWindow(uint32(v), uint64(v))
	},
	"MaxStreams": counted(breezeway.MaxStreams), "MaxMetadata": counted(breezeway.MaxMetadata),
	"Service":           func(v int64) breezeway.Option { return breezeway.Service(uint16(v)) },
	"Offload":           counted(breezeway.Offload),
	"MaxSessions":       counted(breezeway.MaxSessions),
	"MaxSessionsOfUser": counted(breezeway.MaxSessionsOfUser),
	"SocketMode":        func(v int64) breezeway.Option { return breezeway.SocketMode(uint32(v)) },
}

func timed(option func(time.Duration) breezeway.Option) func(int64) breezeway.Option {
	return func(value int64) breezeway.Option { return option(time.Duration(value)) }
}

func sized(option func(uint64) breezeway.Option) func(int64) breezeway.Option {
	return func(value int64) breezeway.Option { return option(uint64(value)) }
}

func counted(option func(int) breezeway.Option) func(int64) breezeway.Option {
	return func(value int64) breezeway.Option { return option(int(value)) }
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
		_, err := breezeway.Listen("unix:/nowhere/at/all/s", echoes, numbered[name](value))
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
			if name == "Service" || past < 0 && value == 0 && isUnsigned(name) {
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
	case "UnderWay", "MaxMemory", "MaxMemoryOfUser", "SocketMode":
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
