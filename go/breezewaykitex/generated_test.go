package breezewaykitex_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/remote"

	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/users"
	plain "github.com/breezeway-ipc/breezeway/go/internal/idl/users"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

// ages is the service Users of code that breezeway gen has generated.
type ages struct{ seen chan string }

func (a ages) Age(_ context.Context, name string) (int64, error) {
	switch name {
	case "Ada":
		return 36, nil
	case "infant":
		return 0, &rpc.BusinessError{Status: 7, Message: "too young"}
	case "nobody":
		return 0, &rpc.Exception{Kind: 77, Message: "no such table"}
	}
	return 0, &plain.NoSuchUser{Name: name}
}

func (a ages) Seen(_ context.Context, name string) error {
	a.seen <- name
	return nil
}

func TestKitexClientCallsServerWithoutKitex(t *testing.T) {
	for _, carrier := range []string{"shm:", "unix:"} {
		address, seen := carrier+t.TempDir()+"/users", make(chan string, 1)
		var server rpc.Server
		plain.RegisterUsers(&server, ages{seen})
		if err := server.Listen(address); err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve() }()
		t.Cleanup(func() { _ = server.Close() })
		client, ctx := usersClient(t, address), context.Background()
		if age, err := client.Age(ctx, "Ada"); age != 36 || err != nil {
			t.Errorf("%d, %v", age, err)
		}
		_, err := client.Age(ctx, "Bob")
		var missing *users.NoSuchUser
		if !errors.As(err, &missing) || missing.Name != "Bob" {
			t.Errorf("a declared exception: %v", err)
		}
		_, err = client.Age(ctx, "infant")
		if business, is := kerrors.FromBizStatusError(err); !is || business.BizStatusCode() != 7 {
			t.Errorf("a business error: %v", err)
		}
		_, err = client.Age(ctx, "nobody")
		var exception *remote.TransError
		if !errors.As(err, &exception) || exception.TypeID() != 77 {
			t.Errorf("an exception: %v", err)
		}
		if err := client.Seen(ctx, "Ada"); err != nil || <-seen != "Ada" {
			t.Errorf("oneway: %v", err)
		}
	}
}

func TestClientWithoutKitexCallsKitexServer(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		shared := rpc.NewClient(p.address)
		defer shared.Close()
		client, ctx := plain.NewUsersClient(shared), context.Background()
		if age, err := client.Age(ctx, "Ada"); age != 36 || err != nil {
			t.Errorf("%d, %v", age, err)
		}
		_, err := client.Age(ctx, "Bob")
		var missing *plain.NoSuchUser
		if !errors.As(err, &missing) || missing.Name != "Bob" {
			t.Errorf("a declared exception: %v", err)
		}
		_, err = client.Age(ctx, "infant")
		var business *rpc.BusinessError
		if !errors.As(err, &business) || business.Status != 7 {
			t.Errorf("a business error: %v", err)
		}
		_, err = client.Age(ctx, "nobody")
		var exception *rpc.Exception
		if !errors.As(err, &exception) || exception.Kind != 77 {
			t.Errorf("an exception: %v", err)
		}
		if err := client.Seen(ctx, "Ada"); err != nil || <-p.seen != "Ada" {
			t.Errorf("oneway: %v", err)
		}
		p.isRight(t)
	})
}
