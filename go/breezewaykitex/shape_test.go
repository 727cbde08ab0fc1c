package breezewaykitex_test

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/kitex/server"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/lists"
	linked "github.com/breezeway-ipc/breezeway/go/breezewaykitex/kitex_gen/lists/lists"
)

type nodes struct{}

func (*nodes) Put(context.Context, *lists.Node) error { return nil }

// hostileNodes are malformed arguments of Lists.put in hexadecimal digits.
var hostileNodes = map[string]string{
	"list of strings":       "0c00010f00020b7fffffff",
	"set":                   "0c00010e00050b7fffffff",
	"map":                   "0c00010d00030b0b7fffffff",
	"list of structs":       "0c00010f00040c7fffffff",
	"strings within bytes":  "0c00010f000403000000080f00020b7fffffff0000",
	"strings that are none": "0c00010f000203000000087fffffff000000000000",
	"negative size":         "0c00010f00020bffffffff",
	"bytes behind":          "0c0001000000",
	"struct in itself":      strings.Repeat("0c0001", 1<<20),
	"lists in lists":        "0c0001" + strings.Repeat("0f00040c00000001", 1<<18),
}

func TestHostileContainersFailTheCallAlone(t *testing.T) {
	address := "unix:" + t.TempDir() + "/lists"
	t.Cleanup(stopping(t, start(t, address, func(opts ...server.Option) server.Server {
		return linked.NewServer(new(nodes), opts...)
	})))
	c, err := breezeway.Dial(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const put = 0x872293c9
	for name, head := range hostileNodes {
		t.Run(name, func(t *testing.T) {
			body, err := hex.DecodeString(head)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Call(context.Background(), put, body)
			var failed *breezeway.CallError
			if !errors.As(err, &failed) || failed.Code != breezeway.ApplicationCode(7) {
				t.Error(err)
			}
		})
	}
	whole, _ := hex.DecodeString("0c0001" + "0c000100" + "0f00020b00000001" + "0000000161" +
		"0d00030b0b00000001" + "0000000161" + "0000000162" + "0f00040c00000002" + "0000" +
		"0e00050b00000000" + "0f00070c00000001" + "00" + "08000200000001" + "00" + "00")
	if reply, err := c.Call(context.Background(), put, whole); err != nil {
		t.Error(err)
	} else {
		reply.Release()
	}
}
