//go:build !race

// Pools forget at random under the race detector, so allocations are counted without it.

package rpc_test

import (
	"context"
	"math"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/idl/echo"
	"github.com/breezeway-ipc/breezeway/go/rpc"
)

func TestTypedCallAllocatesItsStructsAndMessages(t *testing.T) {
	var server rpc.Server
	echo.RegisterEcho(&server, mirror{})
	address := "shm:" + t.TempDir() + "/echo"
	serve(t, &server, address)
	shared := rpc.NewClient(address)
	defer shared.Close()
	client, ctx, body := echo.NewEchoClient(shared), context.Background(), make([]byte, 64)
	call := func() {
		if _, err := client.Echo(ctx, body); err != nil {
			t.Fatal(err)
		}
	}
	call()
	// Of both sides: arguments, result and message of each, and the call of rpc and of its session.
	const most = 8
	least := math.Inf(1)
	for range 10 { // Handlers run in goroutines of their own while their CPU is taken.
		least = min(least, testing.AllocsPerRun(100, call))
	}
	if least > most {
		t.Errorf("%v allocations a call", least)
	}
}
