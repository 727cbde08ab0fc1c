package breezewaykitex_test

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/certificates"
)

func TestLargeCallAllocatesItsTwoValuesAlone(t *testing.T) {
	const size, calls = 1 << 20, 20
	c := serve(t, "shm:"+t.TempDir()+"/echo", certificates.Session{})
	sent := bytes.Repeat([]byte("some"), size/4)
	var before, after runtime.MemStats
	for call := range calls + 1 {
		if call == 1 { // The first one sets the session up.
			runtime.ReadMemStats(&before)
		}
		if back, err := c.Echo(context.Background(), sent); err != nil || !bytes.Equal(back, sent) {
			t.Fatalf("%d bytes come back: %v", len(back), err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / calls; each > 5*size/2 {
		t.Errorf("a call of %d bytes allocates %d", size, each)
	}
}
