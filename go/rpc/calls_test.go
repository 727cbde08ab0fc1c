package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/containers"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/room"
	"github.com/breezeway-ipc/breezeway/go/internal/idl/users"
	"github.com/breezeway-ipc/breezeway/go/rpc"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

func TestEveryKindOfCallIsAnswered(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		ctx := context.Background()
		p.isRight(t)
		_, err := p.users.Age(ctx, "Bob")
		var missing *users.NoSuchUser
		if !errors.As(err, &missing) || missing.Name != "Bob" {
			t.Errorf("a declared exception: %v", err)
		}
		_, err = p.users.Age(ctx, "infant")
		var business *rpc.BusinessError
		if !errors.As(err, &business) || business.Status != 7 || business.Message != "too young" {
			t.Errorf("a business error: %v", err)
		}
		for name, kind := range map[string]int32{"nobody": 77, "broken": rpc.KindInternalError,
			"panic": rpc.KindInternalError} {
			_, err = p.users.Age(ctx, name)
			var exception *rpc.Exception
			if !errors.As(err, &exception) || exception.Kind != kind {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := p.users.Seen(ctx, "Ada"); err != nil {
			t.Error(err)
		}
		if seen := p.says(t); seen != "Ada" {
			t.Errorf("%q was seen", seen)
		}
		p.isRight(t)
	})
}

func TestUnknownMethodIsRefused(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		_, err := containers.NewContainersClient(p.client).Longs(context.Background(), nil)
		if !errors.Is(err, rpc.ErrUnknownMethod) ||
			!strings.HasSuffix(err.Error(), "; served here: Users, Room") {
			t.Errorf("%v", err)
		}
		p.isRight(t)
	})
}

func TestMetadataTravelsBothWays(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		var reply map[string]string
		ctx := rpc.WithMetadata(context.Background(), "born", "?")
		ctx = rpc.WithReplyMetadata(rpc.WithPersistentMetadata(ctx, "years", "4"), &reply)
		if age, err := p.users.Age(ctx, "Ada"); age != 40 || err != nil {
			t.Errorf("%d, %v", age, err)
		}
		if reply["born"] != "1815" {
			t.Errorf("%v comes back", reply)
		}
	})
}

func TestDeadlineAndCancellationEndHandlers(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if _, err := p.users.Age(ctx, "slow"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if said := p.says(t) + p.says(t); said != "slowgiven up" {
			t.Errorf("%q at the deadline", said)
		}
		ctx, cancel = context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			_, err := p.users.Age(ctx, "slow")
			ended <- err
		}()
		if said := p.says(t); said != "slow" {
			t.Errorf("%q before the cancellation", said)
		}
		cancel()
		if said := p.says(t); said != "given up" {
			t.Errorf("%q at the cancellation", said)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		p.isRight(t)
	})
}

func TestEverySizeAndManyCallsComeBack(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		said := func(size int) error {
			line := &room.Line{From: "a", Text: strings.Repeat("x", size)}
			back, err := p.room.Say(context.Background(), line)
			if err == nil && *back != *line {
				err = fmt.Errorf("%d bytes come back as %d", size, len(back.Text))
			}
			return err
		}
		for _, size := range []int{0, 1, 60, 80, 90, 4000, 4096, 5000, 65_536, 1 << 20, 16 << 20} {
			if err := said(size); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
		}
		var all sync.WaitGroup
		for g := range 500 {
			all.Add(1)
			go func() {
				defer all.Done()
				if err := said(10 * g); err != nil {
					t.Errorf("call %d: %v", g, err)
				}
			}()
		}
		all.Wait()
		var tooLarge *breezeway.TooLargeError
		if err := said(65 << 20); !errors.As(err, &tooLarge) {
			t.Errorf("beyond the cap: %v", err)
		}
		p.isRight(t)
	})
}

func TestBrokenArgumentsFailTheCallAlone(t *testing.T) {
	withServers(t, func(t *testing.T, p peer) {
		native := breezeway.NewClient(p.address, breezeway.WithService(1))
		defer native.Close()
		good := thrift.Marshal(&users.UsersAgeArgs{Name: "Ada"})
		for n := range good {
			_, err := native.Call(context.Background(), 950941598, good[:n])
			var failed *breezeway.CallError
			if !errors.As(err, &failed) || failed.Code != breezeway.ApplicationCode(7) {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
		p.isRight(t)
	})
}

func TestMethodsOfOneNumberAreRefused(t *testing.T) {
	var server rpc.Server
	users.RegisterUsers(&server, table{})
	users.RegisterUsers(&server, table{})
	err := server.Listen("unix:" + t.TempDir() + "/users")
	if err == nil || !strings.Contains(err.Error(), "Users.age") {
		t.Errorf("%v", err)
	}
}

func TestHandlerPassesPersistentMetadataOn(t *testing.T) {
	behind := "unix:" + t.TempDir() + "/users"
	startGo(t, behind)
	client := rpc.NewClient(behind)
	defer client.Close()
	front := "unix:" + t.TempDir() + "/users"
	var server rpc.Server
	users.RegisterUsers(&server, forward{users.NewUsersClient(client)})
	if err := server.Listen(front); err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Close()
	caller := rpc.NewClient(front)
	defer caller.Close()
	ctx := rpc.WithPersistentMetadata(context.Background(), "years", "4")
	if age, err := users.NewUsersClient(caller).Age(ctx, "Ada"); age != 40 || err != nil {
		t.Errorf("%d, %v", age, err)
	}
	ctx = rpc.WithMetadata(context.Background(), "years", "4")
	if age, err := users.NewUsersClient(caller).Age(ctx, "Ada"); age != 36 || err != nil {
		t.Errorf("%d, %v", age, err)
	}
}

// forward calls another service.
type forward struct{ *users.UsersClient }
