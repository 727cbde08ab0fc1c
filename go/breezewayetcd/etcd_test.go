package breezewayetcd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/breezeway-ipc/breezeway/go/breezewayetcd"
)

// patience is the time limit of each step.
const patience = 30 * time.Second

// etcd is a real etcd for one test, with its data in a folder.
type etcd struct {
	t       *testing.T
	folder  string
	clients string
	peers   string
	command *exec.Cmd
}

// startEtcd starts etcd, or skips the test where there is none.
func startEtcd(t *testing.T) *etcd {
	t.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("needs etcd, as make etcd has it")
	}
	for range 5 { // Another process may take a port before etcd does.
		e := &etcd{t: t, folder: t.TempDir(), clients: freeURL(t), peers: freeURL(t)}
		if e.start() {
			t.Cleanup(e.kill)
			return e
		}
	}
	t.Fatal("etcd does not start")
	return nil
}

func freeURL(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

// start starts it with the data that it had, and returns true once it answers.
func (e *etcd) start() bool {
	e.t.Helper()
	e.command = exec.Command("etcd", "--name", "one", "--data-dir", filepath.Join(e.folder, "data"),
		"--listen-client-urls", e.clients, "--advertise-client-urls", e.clients,
		"--listen-peer-urls", e.peers, "--initial-advertise-peer-urls", e.peers,
		"--initial-cluster", "one="+e.peers)
	e.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.command.Start(); err != nil {
		e.t.Fatal(err)
	}
	client := e.client()
	defer client.Close()
	ended := make(chan struct{})
	go func() {
		_ = e.command.Wait()
		close(ended)
	}()
	for limit := time.Now().Add(patience); time.Now().Before(limit); {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		_, err := client.Get(ctx, "a")
		cancel()
		if err == nil {
			return true
		}
		select {
		case <-ended:
			return false
		default:
		}
	}
	return false
}

func (e *etcd) kill() {
	_ = e.command.Process.Kill()
	_, _ = e.command.Process.Wait()
}

// loseAll throws away the data of an etcd that was killed.
func (e *etcd) loseAll() {
	if err := os.RemoveAll(filepath.Join(e.folder, "data")); err != nil {
		e.t.Fatal(err)
	}
}

func (e *etcd) client() *clientv3.Client {
	e.t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{e.clients},
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second,
		Logger: zap.NewNop()})
	if err != nil {
		e.t.Fatal(err)
	}
	return client
}

// registry returns a registry that ends with the test.
func (e *etcd) registry() *breezewayetcd.Registry {
	e.t.Helper()
	client := e.client()
	registry := breezewayetcd.New(client)
	e.t.Cleanup(func() {
		_ = registry.Close()
		_ = client.Close()
	})
	return registry
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until repeats a step until it succeeds.
func until(t *testing.T, step func() error) {
	t.Helper()
	err := errors.New("not tried")
	for limit := time.Now().Add(patience); err != nil; err = step() {
		if time.Now().After(limit) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// registered waits until exactly these instances of the service echo are registered.
func registered(t *testing.T, registry *breezewayetcd.Registry, names ...string) {
	t.Helper()
	until(t, func() error {
		set, err := registry.Resolve(within(t), "echo")
		if err != nil {
			return err
		}
		got := []string{}
		for _, instance := range set {
			got = append(got, instance.Name)
		}
		if fmt.Sprint(got) != fmt.Sprint(names) {
			return fmt.Errorf("registered are %v, not %v", got, names)
		}
		return nil
	})
}
