package breezewayetcd_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewayetcd"
	"github.com/breezeway-ipc/breezeway/go/instances"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// rust returns the example of crates/breezeway-etcd as a command that ends with the test.
func rust(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	program := os.Getenv("BREEZEWAY_ETCD_ECHO")
	if program == "" {
		t.Skip("needs the program of the variable BREEZEWAY_ETCD_ECHO, as make etcd sets it")
	}
	command := exec.Command(program, arguments...)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command
}

// called makes a call to the only instance, and returns the carrier and the reply.
func called(t *testing.T, registry *breezewayetcd.Registry) (breezeway.Carrier, string, error) {
	t.Helper()
	set, err := registry.Resolve(within(t), "echo")
	if err != nil || len(set) != 1 {
		return 0, "", fmt.Errorf("the instances are %v: %w", set, err)
	}
	addresses, _ := set[0].Way()
	session, err := breezeway.Dial(within(t), addresses, breezeway.WithService(wire.Number))
	if err != nil {
		return 0, "", err
	}
	defer session.Close()
	reply, err := session.Call(within(t), 1, []byte("of Go"))
	if err != nil {
		return 0, "", err
	}
	defer reply.Release()
	return session.Carrier(), string(reply.Bytes()), nil
}

func TestGoClientFindsServerInRustUntilItDeregisters(t *testing.T) {
	server := startEtcd(t)
	registry := server.registry()
	command := rust(t, "serve", server.clients, "one", "shm:"+t.TempDir()+"/s,tcp:127.0.0.1:0")
	input, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	registered(t, registry, "one")
	carrier, reply, err := called(t, registry)
	if err != nil || carrier != breezeway.Shm || reply != "of Go" {
		t.Error(carrier, reply, err)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	registered(t, registry)
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
}

func TestRustClientFindsServerInGo(t *testing.T) {
	etcd := startEtcd(t)
	registry := etcd.registry()
	echo := func(_ context.Context, call *breezeway.Call) error { return call.Echo() }
	server, err := breezeway.Listen("shm:"+t.TempDir()+"/s,tcp:127.0.0.1:0", echo,
		breezeway.WithService(wire.Number))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()
	var texts []string
	for _, address := range server.Addresses() {
		texts = append(texts, address.String())
	}
	here, err := instances.Here("of-go", strings.Join(texts, ","))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := here
	elsewhere.Locality = nil
	for carrier, instance := range map[string]instances.Instance{"Shm": here, "Tcp": elsewhere} {
		registration, err := registry.Register(within(t), "echo", instance)
		if err != nil {
			t.Fatal(err)
		}
		output, err := rust(t, "call", etcd.clients).Output()
		lines := bufio.NewScanner(strings.NewReader(string(output)))
		count := 0
		for ; lines.Scan(); count++ {
			if !strings.Contains(lines.Text(), `"of-go"`) ||
				!strings.Contains(lines.Text(), carrier) {
				t.Errorf("%s: %s", carrier, lines.Text())
			}
		}
		if err != nil || count != 5 {
			t.Errorf("%d calls: %v", count, err)
		}
		if err := registration.Deregister(within(t)); err != nil {
			t.Error(err)
		}
	}
}
