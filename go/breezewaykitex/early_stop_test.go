package breezewaykitex

import (
	"errors"
	"net"
	"testing"

	"github.com/cloudwego/kitex/pkg/serviceinfo"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func TestServerStoppedWhileItBeginsToListenEnds(t *testing.T) {
	path := t.TempDir() + "/s"
	s := &transServer{factory: &serverFactory{addresses: "shm:" + path,
		services: func() any { return map[string]*serviceinfo.ServiceInfo{} }}}
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateListener(nil); !errors.Is(err, breezeway.ErrServerClosed) {
		t.Errorf("it listens: %v", err)
	}
	if conn, err := net.Dial("unix", path); err == nil {
		_ = conn.Close()
		t.Error("it accepts connections")
	}
}
