package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/examples/users/gen/users"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// listening returns the address of a server.
func listening(t *testing.T, carrier string) string {
	address := carrier + t.TempDir() + "/users"
	var server rpc.Server
	users.RegisterUsers(&server, &table{watchers: map[chan *users.Visit]bool{}})
	if err := server.Listen(address); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve() }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return address
}

// blocks returns the blocks of a language on pages of the tutorial.
func blocks(t *testing.T, language string, pages ...string) (text string) {
	t.Helper()
	for _, page := range pages {
		bytes, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(bytes), "```"+language+"\n")
		block, _, _ := strings.Cut(rest, "```")
		text += block
	}
	return text
}

func TestClientPrintsWhatTutorialShows(t *testing.T) {
	shown := blocks(t, "text", "tutorial.md", "tutorial-streams.md")
	// This server alone adds the year of its table.
	shown = strings.Replace(shown, "\n", "\nas of 1851\n", 1)
	for _, carrier := range []string{"shm:", "unix:"} {
		var printed strings.Builder
		if err := ask(listening(t, carrier), &printed); err != nil || printed.String() != shown {
			t.Errorf("%s, and not %s, %v", printed.String(), shown, err)
		}
	}
}

func TestIDLIsTheTutorials(t *testing.T) {
	idl, err := os.ReadFile("idl/users.thrift")
	if err != nil || blocks(t, "thrift", "tutorial-streams.md") != string(idl) {
		t.Errorf("it differs, %v", err)
	}
}

func TestRustCommandCallsServer(t *testing.T) {
	command := os.Getenv("BREEZEWAY_BIN")
	if command == "" {
		t.Skip("needs the program of the variable BREEZEWAY_BIN, as make go sets it")
	}
	call := exec.Command(command, "call", listening(t, "shm:"), "--framing", "native",
		"--idl", "idl/users.thrift", "Users.age", `{"name":"Ada"}`)
	output, err := call.CombinedOutput()
	if strings.TrimSpace(string(output)) != "36" {
		t.Errorf("%s, %v", output, err)
	}
}
