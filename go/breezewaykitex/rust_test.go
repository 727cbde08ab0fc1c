package breezewaykitex_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo/echo"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/users"
	"github.com/breezeway-ipc/breezeway/go/internal/programs"
)

const (
	usersIDL = "../../crates/breezeway-rpc/tests/idl/users.thrift"
	echoIDL  = "idl/echo.thrift"
)

// startServer starts a server in Rust, which has printed a line when it listens.
func startServer(t *testing.T, path string, arguments ...string) *programs.Program {
	t.Helper()
	server := programs.Start(t, exec.Command(path, arguments...))
	server.Says(t)
	return server
}

// withRust runs a test with the service Users in Rust, over shared memory and a unix socket.
func withRust(t *testing.T, test func(t *testing.T, server *programs.Program, p pair)) {
	interop := programs.Path(t, "BREEZEWAY_INTEROP")
	for _, carrier := range []string{"shm:", "unix:"} {
		t.Run(carrier[:len(carrier)-1], func(t *testing.T) {
			address := carrier + t.TempDir() + "/users"
			server := startServer(t, interop, "serve-users", address)
			test(t, server, pair{client: usersClient(t, address), address: address})
		})
	}
}

func TestRustServerAnswersEveryKindOfCall(t *testing.T) {
	withRust(t, func(t *testing.T, server *programs.Program, p pair) {
		p.isRight(t)
		_, err := p.client.Age(context.Background(), "Bob")
		var missing *users.NoSuchUser
		if !errors.As(err, &missing) || missing.Name != "Bob" {
			t.Errorf("a declared exception: %v", err)
		}
		_, err = p.client.Age(context.Background(), "infant")
		if business, is := kerrors.FromBizStatusError(err); !is ||
			business.BizStatusCode() != 7 || business.BizMessage() != "too young" {
			t.Errorf("a business error: %v", err)
		}
		for name, kind := range map[string]int32{"nobody": 77, "broken": remote.InternalError,
			"panic": remote.InternalError} {
			_, err = p.client.Age(context.Background(), name)
			var exception *remote.TransError
			if !errors.As(err, &exception) || exception.TypeID() != kind {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := p.client.Seen(context.Background(), "Ada"); err != nil {
			t.Error(err)
		}
		if seen := server.Says(t); seen != "Ada" {
			t.Errorf("%q was seen", seen)
		}
		p.isRight(t)
	})
}

func TestRustServerTakesAndSendsMetainfo(t *testing.T) {
	withRust(t, func(t *testing.T, _ *programs.Program, p pair) {
		ctx := metainfo.WithValue(context.Background(), "born", "?")
		ctx = metainfo.WithBackwardValues(metainfo.WithPersistentValue(ctx, "years", "4"))
		if age, err := p.client.Age(ctx, "Ada"); age != 40 || err != nil {
			t.Errorf("%d, %v", age, err)
		}
		if born, _ := metainfo.RecvBackwardValue(ctx, "born"); born != "1815" {
			t.Errorf("%q comes back", born)
		}
	})
}

func TestRustServerThatIsKilledFailsItsCalls(t *testing.T) {
	withRust(t, func(t *testing.T, server *programs.Program, p pair) {
		ended := make(chan error, 1)
		go func() {
			_, err := p.client.Age(context.Background(), "slow")
			ended <- err
		}()
		server.Says(t)
		server.Kill()
		if err := <-ended; !errors.Is(err, kerrors.ErrRemoteOrNetwork) ||
			errors.Is(err, kerrors.ErrGetConnection) {
			t.Errorf("the call in flight: %v", err)
		}
		_, err := p.client.Age(context.Background(), "Ada")
		if !errors.Is(err, kerrors.ErrGetConnection) {
			t.Errorf("a call without a server: %v", err)
		}
		startServer(t, server.Path, "serve-users", p.address)
		p.isRight(t)
	})
}

func TestRustServerEchoesEverySizeAndManyCalls(t *testing.T) {
	command := programs.Path(t, "BREEZEWAY_BIN")
	for _, carrier := range []string{"shm:", "unix:"} {
		address := carrier + t.TempDir() + "/echo"
		startServer(t, command, "serve", "--protocol", "thrift", "--addr", address)
		c, err := echo.NewClient("Echo", breezewaykitex.Client(address))
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 1, 90, 95, 104, 105, 65_536, 1 << 20, 4 << 20, 64} {
			if err := bounced(c, size); err != nil {
				t.Fatalf("over %s %d bytes: %v", carrier, size, err)
			}
		}
		if err := bounced(c, 65<<20); err == nil {
			t.Errorf("over %s a call beyond the cap succeeds", carrier)
		}
		var all sync.WaitGroup
		for g := range 500 {
			all.Add(1)
			go func() {
				defer all.Done()
				if err := bounced(c, 10*g); err != nil {
					t.Errorf("call %d: %v", g, err)
				}
			}()
		}
		all.Wait()
	}
}

// rustCalls has the command call a method, and returns its status and what it prints.
func rustCalls(t *testing.T, address, idl, method string, more ...string) (int, string) {
	t.Helper()
	call := exec.Command(programs.Path(t, "BREEZEWAY_BIN"),
		append([]string{"call", address, "--framing", "native", "--idl", idl, method}, more...)...)
	output, err := call.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return call.ProcessState.ExitCode(), strings.TrimSpace(string(output))
}

func TestRustClientCallsEveryKindOfMethod(t *testing.T) {
	programs.Path(t, "BREEZEWAY_BIN")
	withPairs(t, func(t *testing.T, p pair) {
		for _, c := range []struct {
			arguments string
			status    int
			output    string
		}{
			{`{"name":"Ada"}`, 0, "36"},
			{`{"name":"Bob"}`, 3, `Users.age threw NoSuchUser: {"name":"Bob"}`},
			{`{"name":"infant"}`, 3, "too young (status 7)"},
			{`{"name":"nobody"}`, 4, "no such table"},
			{`{"name":"broken"}`, 4, "the table is broken"},
			{`{"name":"panic"}`, 4, "of this handler"},
		} {
			status, output := rustCalls(t, p.address, usersIDL, "Users.age", c.arguments)
			if status != c.status || !strings.Contains(output, c.output) {
				t.Errorf("%s: status %d, %s", c.arguments, status, output)
			}
		}
		status, output := rustCalls(t, p.address, usersIDL, "Users.age", `{"name":"Ada"}`,
			"--metadata", "years=4")
		if status != 0 || output != "40" {
			t.Errorf("with metadata: status %d, %s", status, output)
		}
		status, output = rustCalls(t, p.address, usersIDL, "Users.seen", `{"name":"Ada"}`)
		if seen := <-p.seen; status != 0 || seen != "Ada" {
			t.Errorf("oneway: status %d, %s; %q was seen", status, output, seen)
		}
		if status, output = rustCalls(t, p.address, echoIDL, "Echo.wait"); status != 4 {
			t.Errorf("an unknown method: status %d, %s", status, output)
		}
		p.isRight(t)
	})
}

func TestRustClientThatIsKilledEndsHandlersContext(t *testing.T) {
	command := programs.Path(t, "BREEZEWAY_BIN")
	withPairs(t, func(t *testing.T, p pair) {
		call := exec.Command(command, "call", p.address, "--framing", "native", "--idl", usersIDL,
			"Users.age", `{"name":"slow"}`)
		if err := call.Start(); err != nil {
			t.Fatal(err)
		}
		<-p.hangs
		_ = call.Process.Kill()
		_ = call.Wait()
		if err := <-p.ended; err == nil {
			t.Error("the handler's context goes on")
		}
		p.isRight(t)
	})
}

func TestRustClientSeesReplyBeyondTheCapAsFailure(t *testing.T) {
	programs.Path(t, "BREEZEWAY_BIN")
	address := "shm:" + t.TempDir() + "/echo"
	startAmplifier(t, address, breezeway.WithCap(4096))
	status, output := rustCalls(t, address, echoIDL, "Echo.echo",
		`{"body":"`+strings.Repeat("AAAA", 300)+`"}`)
	if status != 4 || !strings.Contains(output, "4096") {
		t.Errorf("status %d, %s", status, output)
	}
	status, output = rustCalls(t, address, echoIDL, "Echo.echo", `{"body":"AAAA"}`)
	if status != 0 {
		t.Errorf("the next call: status %d, %s", status, output)
	}
}
