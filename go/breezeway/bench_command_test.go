package breezeway_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start starts a command's serve, and returns its address.
func start(t testing.TB, command, carrier string, flags ...string) (*exec.Cmd, string) {
	server := exec.Command(command, append([]string{"serve", "--addr", addressOf(t, carrier)},
		flags...)...)
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, output) }()
	return server, strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
}

// suspend stops a process, and waits until it has stopped.
func suspend(t *testing.T, process *exec.Cmd) {
	if err := process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(process.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
}

func TestBenchesOfBothLanguagesAgreeWithServersOfBoth(t *testing.T) {
	for serverName, server := range commands(t) {
		for clientName, client := range commands(t) {
			if clientName == "rust" && serverName == "rust" {
				continue // Its own tests cover it.
			}
			for _, carrier := range carriers {
				t.Run(clientName+" to "+serverName+" over "+carrier, func(t *testing.T) {
					_, address := start(t, server, carrier)
					loads := []string{
						"--count 2000 --size 64", "--count 200 --size 100KiB",
						"--count 20 --size 3MiB",
						"--count 500 --size 64KiB --touch none",
						"--count 2000 --depth 16 --size 200",
						"--count 20000 --pattern one-way --size 50",
						"--count 2000 --pattern one-way --size 5000",
						"--count 1000 --sessions 4 --wait park", "--count 50 --rate 1000 --size 8",
						"--count 20 --pattern cold",
					}
					if serverName == "go" { // Rust's server serves streams only under tokio.
						runtime := map[string]string{"rust": " --runtime tokio"}[clientName]
						loads = append(loads, "--count 2000 --streams 20"+runtime,
							"--count 100 --streams 4 --size 100KiB"+runtime)
					}
					for _, flags := range loads {
						arguments := append([]string{"bench", "--addr", address},
							strings.Fields(flags)...)
						bench := exec.Command(client, arguments...)
						watch := time.AfterFunc(time.Minute, func() { _ = bench.Process.Kill() })
						output, err := bench.CombinedOutput()
						watch.Stop()
						if err != nil {
							t.Errorf("%s: %v\n%s", flags, err, output)
						}
					}
				})
			}
		}
	}
}
