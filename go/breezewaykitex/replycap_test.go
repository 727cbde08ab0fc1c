package breezewaykitex_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/echo/echo"
)

// amplifier replies with ten times the bytes of a request.
type amplifier struct{ *mirror }

func (*amplifier) Echo(_ context.Context, body []byte) ([]byte, error) {
	return bytes.Repeat(body, 10), nil
}

// startAmplifier serves an amplifier until the test's end.
func startAmplifier(t *testing.T, address string, opts ...breezeway.ServerOption) {
	t.Cleanup(stopping(t, start(t, address, func(more ...server.Option) server.Server {
		return echo.NewServer(&amplifier{&mirror{}}, more...)
	}, opts...)))
}

func TestReplyBeyondTheCapFailsAlone(t *testing.T) {
	for _, carrier := range []string{"shm:", "unix:"} {
		address := carrier + t.TempDir() + "/echo"
		startAmplifier(t, address, breezeway.WithCap(64<<10))
		c, err := echo.NewClient("Echo", breezewaykitex.Client(address))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Echo(context.Background(), make([]byte, 10_000))
		if err == nil || !strings.Contains(err.Error(), "takes 65536") ||
			errors.As(err, new(*breezeway.TooLargeError)) {
			t.Errorf("over %s a reply of 100,000 bytes gives %v", carrier, err)
		}
		back, err := c.Echo(context.Background(), make([]byte, 1000))
		if len(back) != 10_000 || err != nil {
			t.Errorf("over %s the next call: %d bytes, %v", carrier, len(back), err)
		}
	}
}
