package breezeway_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// passedOn runs a command's serve with inherited descriptors from 3 on, as systemd does.
func passedOn(t *testing.T, command string, files []*os.File, flags ...string) (*exec.Cmd, string) {
	t.Helper()
	arguments := append([]string{"-c", `export LISTEN_PID=$$ LISTEN_FDS=$1; shift; exec "$@"`, "sh",
		string(rune('0' + len(files))), command, "serve", "--take-over"}, flags...)
	server := exec.Command("sh", arguments...)
	server.ExtraFiles, server.Stderr = files, os.Stderr
	output, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
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

func stops(t *testing.T, server *exec.Cmd) {
	t.Helper()
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
}

func TestSocketsThatAServiceManagerPassesOnAreServedAndKept(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "s")
	unix, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: thisHost})
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	other, err := net.ListenTCP("tcp", &net.TCPAddr{IP: thisHost}) // No address names this socket.
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	pipe, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	files := []*os.File{pipe}
	for _, listener := range []interface{ File() (*os.File, error) }{other, tcp, unix} {
		file, err := listener.File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		files = append(files, file)
	}
	addresses := "shm:" + path + ",tcp:" + tcp.Addr().String()
	for name, successor := range commands(t) {
		t.Run(name+" follows", func(t *testing.T) {
			first, served := passedOn(t, commands(t)["go"], files, "--addr", addresses)
			if served != addresses {
				t.Fatalf("it serves %s, and %s were passed on", served, addresses)
			}
			var clients []*breezeway.Client
			for _, address := range strings.Split(addresses, ",") {
				client := breezeway.NewClient(address, breezeway.WithHandshakeTimeout(time.Minute))
				defer client.Close()
				clients = append(clients, client)
			}
			call := func() {
				for _, client := range clients {
					reply, err := client.Call(within(t, time.Minute), echo, []byte("hello"))
					if err != nil || string(reply.Bytes()) != "hello" {
						t.Errorf("%s, %v", reply.Bytes(), err)
					}
				}
			}
			call()
			second, _ := passedOn(t, successor, nil, "--addr", addresses)
			call() // The client has moved, and closed its session with the first server.
			if err := first.Wait(); err != nil {
				t.Error(err)
			}
			stops(t, second)
			waiting, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal("the socket is gone with its servers: ", err)
			}
			defer waiting.Close()
			if conn, err := unix.Accept(); err != nil {
				t.Error(err)
			} else {
				_ = conn.Close()
			}
		})
	}
}
