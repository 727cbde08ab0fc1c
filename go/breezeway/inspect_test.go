package breezeway_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// A shownSession is a session as `breezeway inspect` shows it.
type shownSession struct {
	Session       int
	Role, Carrier string
	Peer          int            `json:"peer_pid"`
	Waits         string         `json:"waits_for"`
	Counts        map[string]int `json:"counts"`
}

// inspect returns the output of a subcommand about a process.
func inspect(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := exec.Command(os.Getenv("BREEZEWAY_BIN"), arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", arguments, err, output)
	}
	return string(output)
}

func inspectSessions(t *testing.T, pid int) []shownSession {
	t.Helper()
	var shown struct {
		Native struct{ Sessions []shownSession }
	}
	output := inspect(t, "inspect", strconv.Itoa(pid), "--json")
	if err := json.Unmarshal([]byte(output), &shown); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return shown.Native.Sessions
}

func TestStoppedServerIsInspected(t *testing.T) {
	list := commands(t)
	if list["rust"] == "" {
		t.Skip("SKIPPED: BREEZEWAY_BIN does not name the command breezeway")
	}
	const calls = 100
	for _, carrier := range []string{"shm", "unix", "tcp"} {
		t.Run(carrier, func(t *testing.T) {
			server, address := start(t, list["go"], carrier)
			leaving, staying := dial(t, address), dial(t, address)
			for _, session := range []*breezeway.Session{leaving, staying} {
				for range calls {
					reply, err := session.Call(context.Background(), echo, []byte("hello"))
					if err != nil {
						t.Fatal(err)
					}
					reply.Release()
				}
			}
			if shown := inspectSessions(t, server.Process.Pid); len(shown) != 2 {
				t.Fatalf("%+v", shown)
			}
			if err := leaving.Close(); err != nil {
				t.Fatal(err)
			}
			until := time.Now().Add(time.Minute)
			for len(inspectSessions(t, server.Process.Pid)) > 1 {
				if time.Now().After(until) {
					t.Fatal("the ended session is still shown")
				}
			}
			suspend(t, server)
			shown := inspectSessions(t, server.Process.Pid)
			if len(shown) != 1 {
				t.Fatalf("%+v", shown)
			}
			one := shown[0]
			if one.Role != "server" || one.Carrier != carrier || one.Session == 0 {
				t.Errorf("%+v", one)
			}
			for name, count := range map[string]int{"calls_received": calls, "ends_sent": calls,
				"bytes_received": 5 * calls, "bytes_sent": 5 * calls, "errors_sent": 0} {
				if one.Counts[name] != count {
					t.Errorf("%s: %d of %d", name, one.Counts[name], count)
				}
			}
			if carrier == "shm" && os.Geteuid() == 0 { // Others need the rights of a debugger.
				dump := inspect(t, "dump", strconv.Itoa(server.Process.Pid),
					strconv.Itoa(one.Session))
				if !strings.Contains(dump, "message  stream ") {
					t.Error(dump)
				}
			}
			top := inspect(t, "top", strconv.Itoa(server.Process.Pid), "--once", "--every", "50ms")
			if !strings.Contains(top, "1 sessions") || !strings.Contains(top, " server ") {
				t.Error(top)
			}
		})
	}
}
