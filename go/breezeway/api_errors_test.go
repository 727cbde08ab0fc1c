package breezeway_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func TestErrorsAreThoseOfTheStandardLibrary(t *testing.T) {
	fails := func(_ context.Context, call *breezeway.Call) error {
		return &breezeway.CallError{Code: breezeway.Code(call.Method())}
	}
	streams := func(_ context.Context, stream *breezeway.Stream) {
		stream.Reset(breezeway.Code(stream.Method()))
	}
	conn := dial(t, goServer(t, "shm", fails, streams))
	for _, failure := range []struct {
		code     breezeway.Code
		is, isNo error
	}{
		{breezeway.CodeDeadlinePassed, context.DeadlineExceeded, context.Canceled},
		{breezeway.CodeCancelled, context.Canceled, context.DeadlineExceeded},
	} {
		_, err := conn.Call(within(t, time.Minute), uint32(failure.code), nil)
		if !errors.Is(err, failure.is) || errors.Is(err, failure.isNo) {
			t.Errorf("a call that fails with %v gives %v", failure.code, err)
		}
		stream, err := conn.Open(within(t, time.Minute), uint32(failure.code))
		if err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv(within(t, time.Minute))
		if !errors.Is(err, failure.is) || errors.Is(err, failure.isNo) {
			t.Errorf("a stream that is reset with %v gives %v", failure.code, err)
		}
	}
	_ = conn.Close()
	_, err := conn.Call(context.Background(), 0, nil)
	if !errors.Is(err, net.ErrClosed) || !errors.Is(err, breezeway.ErrClosed) {
		t.Errorf("a closed session gives %v", err)
	}
}

func TestListenInMissingFolderNamesIt(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "absent")
	server, err := breezeway.Listen("shm:"+folder+"/s", echoes)
	if server != nil || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "the folder "+folder+" does not exist; create it") {
		t.Errorf("a missing folder gives %v and %v", server, err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if server, err = breezeway.Listen("shm:"+folder+"/s", echoes); err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
}

func TestTextOfEveryValueIsPrinted(t *testing.T) {
	for _, text := range []struct{ is, wanted string }{
		{breezeway.TLS.String(), "tls"}, {breezeway.Carrier(4).String(), "carrier 4"},
		{breezeway.Carrier(-1).String(), "carrier -1"}, {breezeway.Park.String(), "park"},
		{breezeway.WaitPolicy(3).String(), "wait policy 3"},
		{breezeway.WaitPolicy(-1).String(), "wait policy -1"},
		{breezeway.Address{Carrier: 9, Path: "/s"}.String(), "carrier 9:/s"},
	} {
		if text.is != text.wanted {
			t.Errorf("%q, and not %q", text.is, text.wanted)
		}
	}
}

func TestAddressHasHostAndPort(t *testing.T) {
	for text, wanted := range map[string][2]string{
		"tcp:localhost:7000": {"localhost", "7000"}, "tls:[::1]:https": {"::1", "https"},
		"tcp::0": {"", "0"}, "shm:/run/a:b": {}, "unix:/run/s": {},
	} {
		address, err := breezeway.ParseAddress(text)
		if got := [2]string{address.Host(), address.Port()}; err != nil || got != wanted {
			t.Errorf("%s has %q (%v)", text, got, err)
		}
	}
}
