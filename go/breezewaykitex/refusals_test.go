package breezewaykitex_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/kitex/client/genericclient"
	"github.com/cloudwego/kitex/pkg/generic"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/server"
	"github.com/cloudwego/kitex/server/genericserver"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo/echo"
	listed "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/users/users"
)

// relay is a table that gets its answers from a service which is full.
type relay struct{ *table }

func (*relay) Age(context.Context, string) (int64, error) {
	return 0, kerrors.ErrOverlimit.WithCause(errors.New("downstream is full"))
}

func TestDownstreamsLimitIsNoLimitOfThisServer(t *testing.T) {
	address := "unix:" + t.TempDir() + "/users"
	t.Cleanup(stopping(t, start(t, address, func(opts ...server.Option) server.Server {
		return listed.NewServer(&relay{newTable()}, opts...)
	})))
	_, err := usersClient(t, address).Age(context.Background(), "Ada")
	if err == nil || errors.Is(err, kerrors.ErrOverlimit) {
		t.Errorf("a handler that ran fails with %v", err)
	}
}

func TestPanicOfHandlerHasItsCode(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		c, err := breezeway.Dial(context.Background(), p.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		const age = 950941598
		_, err = c.Call(context.Background(), age, []byte("\x0b\x00\x01\x00\x00\x00\x05panic\x00"))
		var failed *breezeway.CallError
		if !errors.As(err, &failed) || failed.Code != breezeway.CodePanicked {
			t.Errorf("%v", err)
		}
	})
}

func TestTooLargeRequestIsNoConnectionError(t *testing.T) {
	address := "unix:" + t.TempDir() + "/echo"
	t.Cleanup(run(t, &mirror{}, address, breezeway.WithCap(64<<10)))
	c, err := echo.NewClient("Echo", breezewaykitex.Client(address))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Echo(context.Background(), make([]byte, 100_000))
	if !errors.As(err, new(*breezeway.TooLargeError)) || errors.Is(err, kerrors.ErrGetConnection) {
		t.Errorf("%v", err)
	}
}

type untyped struct{}

func (untyped) GenericCall(context.Context, string, any) (any, error) { return nil, nil }

func usersJSON(t *testing.T) generic.Generic {
	t.Helper()
	provider, err := generic.NewThriftFileProvider(usersIDL)
	if err != nil {
		t.Fatal(err)
	}
	found, err := generic.JSONThriftGeneric(provider)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestGenericClientIsRefused(t *testing.T) {
	_, err := genericclient.NewClient("Users", usersJSON(t),
		breezewaykitex.Client("unix:"+t.TempDir()+"/users"))
	if err == nil || !strings.Contains(err.Error(), "generic service") {
		t.Errorf("%v", err)
	}
}

func TestGenericServerIsRefused(t *testing.T) {
	s := genericserver.NewServer(&untyped{}, usersJSON(t),
		breezewaykitex.Server("unix:"+t.TempDir()+"/users"))
	if err := s.Run(); err == nil || !strings.Contains(err.Error(), "generic service") {
		t.Errorf("%v", err)
	}
}
