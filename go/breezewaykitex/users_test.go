package breezewaykitex_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/client/callopt"
	"github.com/cloudwego/kitex/pkg/endpoint"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/limit"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo/echo"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/users"
	listed "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/users/users"
)

// table is the service of users.thrift, whose answers docs/vectors/README.md gives.
type table struct {
	// seen gets the names of oneway calls, ended the contexts' errors of calls that hang.
	seen  chan string
	ended chan error
	hangs chan struct{}
}

func newTable() *table {
	return &table{make(chan string, 100), make(chan error, 1), make(chan struct{}, 1)}
}

func (t *table) Age(ctx context.Context, name string) (int64, error) {
	switch name {
	case "Ada":
		years, _ := metainfo.GetValue(ctx, "years")
		persistent, _ := metainfo.GetPersistentValue(ctx, "years")
		more, _ := strconv.Atoi(years + persistent)
		if _, asked := metainfo.GetValue(ctx, "born"); asked {
			metainfo.SendBackwardValue(ctx, "born", "1815")
		}
		return 36 + int64(more), nil
	case "infant":
		return 0, kerrors.NewBizStatusError(7, "too young")
	case "nobody":
		return 0, remote.NewTransErrorWithMsg(77, "no such table")
	case "broken":
		return 0, errors.New("the table is broken")
	case "panic":
		panic("of this handler")
	case "slow":
		t.hangs <- struct{}{}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
		t.ended <- ctx.Err()
		return 0, ctx.Err()
	}
	return 0, &users.NoSuchUser{Name: name}
}

// Seen notes a name, and the years of a caller that sends some.
func (t *table) Seen(ctx context.Context, name string) error {
	if years, has := metainfo.GetPersistentValue(ctx, "years"); has {
		name += " after " + years
	}
	t.seen <- name
	return nil
}

// pair is a client and the service that it calls.
type pair struct {
	*table
	client  listed.Client
	address string
}

// withPairs runs a test over shared memory and over a unix socket.
func withPairs(t *testing.T, test func(t *testing.T, p pair), more ...server.Option) {
	for _, carrier := range []string{"shm:", "unix:"} {
		t.Run(carrier[:len(carrier)-1], func(t *testing.T) {
			address, service := carrier+t.TempDir()+"/users", newTable()
			t.Cleanup(stopping(t, startUsers(t, address, service, more...)))
			test(t, pair{service, usersClient(t, address), address})
		})
	}
}

func stopping(t *testing.T, stop func() error) func() {
	return func() {
		if err := stop(); err != nil {
			t.Errorf("the server stops with %v", err)
		}
	}
}

func startUsers(t *testing.T, address string, service *table,
	more ...server.Option) func() error {
	return start(t, address, func(options ...server.Option) server.Server {
		return listed.NewServer(service, append(options, more...)...)
	})
}

func usersClient(t *testing.T, address string, more ...client.Option) listed.Client {
	c, err := listed.NewClient("Users", append(more, breezewaykitex.Client(address))...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// isRight fails a test unless the session goes on.
func (p pair) isRight(t *testing.T) {
	t.Helper()
	if age, err := p.client.Age(context.Background(), "Ada"); age != 36 || err != nil {
		t.Errorf("the next call gives %d, %v", age, err)
	}
}

func TestDeclaredExceptionIsAnError(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		_, err := p.client.Age(context.Background(), "Bob")
		var missing *users.NoSuchUser
		if !errors.As(err, &missing) || missing.Name != "Bob" {
			t.Errorf("%v", err)
		}
		p.isRight(t)
	})
}

func TestBusinessErrorKeepsStatusAndMessage(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		_, err := p.client.Age(context.Background(), "infant")
		business, is := kerrors.FromBizStatusError(err)
		if !is || business.BizStatusCode() != 7 || business.BizMessage() != "too young" {
			t.Errorf("%v", err)
		}
		p.isRight(t)
	})
}

func TestHandlerErrorKeepsKindAndWords(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		for name, expected := range map[string]struct {
			kind  int32
			words string
		}{"nobody": {77, "no such table"}, "broken": {remote.InternalError, "the table is broken"},
			"panic": {remote.InternalError, "of this handler"}} {
			_, err := p.client.Age(context.Background(), name)
			var exception *remote.TransError
			if !errors.As(err, &exception) || exception.TypeID() != expected.kind ||
				!strings.Contains(err.Error(), expected.words) {
				t.Errorf("%s: %v", name, err)
			}
			p.isRight(t)
		}
	})
}

func TestOnewayCallArrivesWithoutReply(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		if err := p.client.Seen(context.Background(), "Ada"); err != nil {
			t.Fatal(err)
		}
		if name := <-p.seen; name != "Ada" {
			t.Errorf("%q was seen", name)
		}
		p.isRight(t)
	})
}

func TestOnewayCallCarriesNoMetadata(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		ctx := metainfo.WithPersistentValue(context.Background(), "years", "1")
		if err := p.client.Seen(ctx, "Ada"); err != nil {
			t.Fatal(err)
		}
		if seen := <-p.seen; seen != "Ada" {
			t.Errorf("%q was seen", seen)
		}
	})
}

func TestUnknownMethodFailsAlone(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		other, err := echo.NewClient("Echo", breezewaykitex.Client(p.address))
		if err != nil {
			t.Fatal(err)
		}
		_, err = other.Echo(context.Background(), nil)
		var exception *remote.TransError
		if !errors.As(err, &exception) || exception.TypeID() != remote.UnknownMethod {
			t.Errorf("%v", err)
		}
		p.isRight(t)
	})
}

func TestTwoServicesOfOneServerAreCalledByName(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		address := p.address + "-both"
		t.Cleanup(stopping(t, start(t, address, func(options ...server.Option) server.Server {
			s := server.NewServer(options...)
			_ = listed.RegisterService(s, p.table)
			_ = echo.RegisterService(s, &mirror{})
			return s
		})))
		p.client = usersClient(t, address)
		p.isRight(t)
		other, err := echo.NewClient("Echo", breezewaykitex.Client(address))
		if err != nil {
			t.Fatal(err)
		}
		if err := bounced(other, 1000); err != nil {
			t.Error(err)
		}
	})
}

func TestMetainfoTravelsBothWays(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		for name, with := range map[string]func(ctx context.Context, k, v string) context.Context{
			"transient": metainfo.WithValue, "persistent": metainfo.WithPersistentValue} {
			asking := metainfo.WithValue(context.Background(), "born", "?")
			ctx := metainfo.WithBackwardValues(with(asking, "years", "4"))
			if age, err := p.client.Age(ctx, "Ada"); age != 40 || err != nil {
				t.Errorf("with a %s value: %d, %v", name, age, err)
			}
			if born, _ := metainfo.RecvBackwardValue(ctx, "born"); born != "1815" {
				t.Errorf("with a %s value %q comes back", name, born)
			}
		}
	})
}

func TestMetainfoBeyondTheLimitFailsTheCall(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		call := func(length int) error {
			ctx := metainfo.WithValue(context.Background(), "long", strings.Repeat("x", length))
			_, err := p.client.Age(ctx, "Ada")
			return err
		}
		err := call(20_000)
		if !errors.As(err, new(*breezeway.TooMuchMetadataError)) ||
			errors.Is(err, kerrors.ErrGetConnection) {
			t.Errorf("20,000 bytes: %v", err)
		}
		err = call(70_000)
		if err == nil || !strings.Contains(err.Error(), "longer than 65535 bytes") {
			t.Errorf("70,000 bytes: %v", err)
		}
		p.isRight(t)
	})
}

func TestDeadlineEndsCallAndHandlersContext(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		_, err := p.client.Age(context.Background(), "slow",
			callopt.WithRPCTimeout(50*time.Millisecond))
		if !errors.Is(err, kerrors.ErrRPCTimeout) {
			t.Errorf("%v", err)
		}
		// The clock of either side may be the first.
		if err := <-p.ended; err == nil {
			t.Error("the handler's context goes on")
		}
		p.isRight(t)
	})
}

func TestCancellationEndsCallAndHandlersContext(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			<-p.hangs
			cancel()
		}()
		if _, err := p.client.Age(ctx, "slow"); !kerrors.IsTimeoutError(err) {
			t.Errorf("%v", err)
		}
		if err := <-p.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler's context ends with %v", err)
		}
		p.isRight(t)
	})
}

func TestSlowCallHoldsUpNoOtherOfItsSession(t *testing.T) {
	withPairs(t, func(t *testing.T, p pair) {
		ctx, cancel := context.WithCancel(context.Background())
		slow := make(chan error, 1)
		go func() {
			_, err := p.client.Age(ctx, "slow")
			slow <- err
		}()
		<-p.hangs
		p.isRight(t)
		cancel()
		<-slow
		<-p.ended
	})
}

func TestOverloadedServerFailsCallAsOverLimit(t *testing.T) {
	test := func(t *testing.T, p pair) {
		ctx, cancel := context.WithCancel(context.Background())
		slow := make(chan error, 1)
		go func() {
			_, err := p.client.Age(ctx, "slow")
			slow <- err
		}()
		<-p.hangs
		if _, err := p.client.Age(context.Background(), "Ada"); !errors.Is(err,
			kerrors.ErrOverlimit) {
			t.Errorf("%v", err)
		}
		cancel()
		<-slow
		<-p.ended
		// The server releases the call behind the end of its handler.
		age, err := int64(0), kerrors.ErrOverlimit.WithCause(nil)
		deadline := time.Now().Add(20 * time.Second)
		for errors.Is(err, kerrors.ErrOverlimit) && time.Now().Before(deadline) {
			age, err = p.client.Age(context.Background(), "Ada")
		}
		if age != 36 || err != nil {
			t.Errorf("after the release: %d, %v", age, err)
		}
	}
	withPairs(t, test, server.WithLimit(&limit.Option{MaxConnections: 1, MaxQPS: 1_000_000}))
}

func TestMiddlewaresOfBothSidesAreCalled(t *testing.T) {
	var served, called atomic.Int32
	counting := func(count *atomic.Int32) endpoint.Middleware {
		return func(next endpoint.Endpoint) endpoint.Endpoint {
			return func(ctx context.Context, req, resp any) error {
				count.Add(1)
				return next(ctx, req, resp)
			}
		}
	}
	withPairs(t, func(t *testing.T, p pair) {
		p.client = usersClient(t, p.address, client.WithMiddleware(counting(&called)))
		p.isRight(t)
	}, server.WithMiddleware(counting(&served)))
	if served.Load() != 2 || called.Load() != 2 {
		t.Errorf("%d and %d calls pass", called.Load(), served.Load())
	}
}

func TestCallWithoutServerNeverLeft(t *testing.T) {
	c := usersClient(t, "shm:"+t.TempDir()+"/nobody")
	if _, err := c.Age(context.Background(), "Ada"); !errors.Is(err, kerrors.ErrGetConnection) {
		t.Errorf("%v", err)
	}
}

func TestSessionIsDialledAgainAfterItsServersEnd(t *testing.T) {
	for _, carrier := range []string{"shm:", "unix:"} {
		address := carrier + t.TempDir() + "/users"
		stop := startUsers(t, address, newTable())
		p := pair{client: usersClient(t, address)}
		p.isRight(t)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if _, err := p.client.Age(context.Background(), "Ada"); err == nil {
			t.Error("a server that was stopped answers")
		}
		stop = startUsers(t, address, newTable())
		p.isRight(t)
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestHandlerLearnsItsClientsProcess(t *testing.T) {
	var peer atomic.Value
	noting := func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, req, resp any) error {
			if found, has := breezewaykitex.PeerOf(ctx); has {
				peer.Store(found)
			}
			return next(ctx, req, resp)
		}
	}
	withPairs(t, func(t *testing.T, p pair) {
		p.isRight(t)
		if found, _ := peer.Swap(breezeway.Peer{}).(breezeway.Peer); !found.IsSameUser() {
			t.Errorf("%+v", found)
		}
	}, server.WithMiddleware(noting))
}
