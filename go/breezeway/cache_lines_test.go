package breezeway

import (
	"reflect"
	"testing"

	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

func TestObjectsOfACallFillWholeCacheLines(t *testing.T) {
	const line = 64
	for _, kind := range []reflect.Type{
		reflect.TypeFor[waiter](), reflect.TypeFor[ledger](), reflect.TypeFor[shm.Endpoint](),
	} {
		if kind.Size()%line != 0 {
			t.Errorf("%v has %d bytes: change its padding", kind, kind.Size())
		}
	}
}
