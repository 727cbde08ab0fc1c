// Package examples runs the programs of each job in two processes.
package examples

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// built holds the folder with the programs.
func built(t *testing.T, job string, programs ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, program := range programs {
		build := exec.Command("go", "build", "-o", folder, "./"+job+"/"+program)
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", output, err)
		}
	}
	return folder
}

// A program prints lines, and ends with its test.
type program struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, path string, arguments ...string) program {
	t.Helper()
	command := exec.Command(path, arguments...)
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() }) // Fails if it has ended.
	return program{command, bufio.NewScanner(output)}
}

func (p program) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("%s ended", p.Path)
	}
	return p.lines.Text()
}

// run starts a server and returns it with the output of its client.
func run(t *testing.T, job string) (server program, printed string) {
	t.Helper()
	folder := built(t, job, "server", "client")
	address := "shm:" + folder + "/socket"
	server = start(t, filepath.Join(folder, "server"), address)
	if line := server.line(t); line != "listening on ["+address+"]" {
		t.Fatal(line)
	}
	output, err := exec.Command(filepath.Join(folder, "client"), address).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v", output, err)
	}
	return server, string(output)
}

func TestSyncClientIsGreeted(t *testing.T) {
	if _, printed := run(t, "sync"); printed != "hello world\n" {
		t.Error(printed)
	}
}

func TestStreamsClientPrintsLastSum(t *testing.T) {
	if _, printed := run(t, "streams"); printed != "the sum of 100 numbers is 5050\n" {
		t.Error(printed)
	}
}

func TestTensorsArriveWholeAndInOrder(t *testing.T) {
	server, printed := run(t, "frames")
	if printed != "the server has read 5 tensors\n" {
		t.Error(printed)
	}
	for step := 1; step <= 5; step++ {
		expected := fmt.Sprintf("shape [2 1024 1024], sum %v", float64(step*2*1024*1024))
		if line := server.line(t); line != expected {
			t.Errorf("%s, and not %s", line, expected)
		}
	}
}

func TestClientMovesToSecondProcessWithoutAFailedCall(t *testing.T) {
	folder := built(t, "restart", "server", "client")
	address := "shm:" + folder + "/socket"
	server, client := filepath.Join(folder, "server"), filepath.Join(folder, "client")
	first := start(t, server, address)
	first.line(t)
	calling := start(t, client, address)
	greeting := func(p program) string {
		return fmt.Sprint("hello world, by process ", p.Process.Pid)
	}
	if line := calling.line(t); line != greeting(first) {
		t.Error(line)
	}
	second := start(t, server, address)
	if line := calling.line(t); !strings.HasPrefix(line, greeting(second)+", in call ") {
		t.Error(line)
	}
	if err := calling.Wait(); err != nil {
		t.Error(err)
	}
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
}

func TestMetricsCountCalls(t *testing.T) {
	folder, client := built(t, "metrics", "server"), built(t, "sync", "client")
	address := "shm:" + folder + "/socket"
	server := start(t, filepath.Join(folder, "server"), address, "127.0.0.1:0")
	_, metrics, _ := strings.Cut(server.line(t), "metrics at ")
	call := exec.Command(filepath.Join(client, "client"), address)
	if output, err := call.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", output, err)
	}
	response, err := http.Get("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	counted := `breezeway_calls_received_total{role="server"} 1`
	if err != nil || !strings.Contains(string(text), counted) {
		t.Errorf("%s, %v", text, err)
	}
}
