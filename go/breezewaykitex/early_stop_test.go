package breezewaykitex

import (
	"errors"
	"net"
	"testing"
	"time"

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

func TestStopWaitsForAListenerThatServesAlready(t *testing.T) {
	conns, stopping := new(plainConns), make(chan *breezeway.NetListener)
	made, err := conns.listen(func() (*breezeway.NetListener, error) {
		go func() { stopping <- conns.stop() }()
		select {
		case <-stopping:
			t.Error("it stops without the listener")
		case <-time.After(50 * time.Millisecond):
		}
		return new(breezeway.NetListener), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if stopped := <-stopping; stopped != made {
		t.Error("it stops another listener")
	}
}
