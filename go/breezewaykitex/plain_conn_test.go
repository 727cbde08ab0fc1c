package breezewaykitex

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/serviceinfo"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

func TestArrivedRequestOnIdleConnectionIsServed(t *testing.T) {
	for _, carrier := range []string{"shm:", "unix:"} {
		address := carrier + filepath.Join(t.TempDir(), "s")
		listener, err := breezeway.ListenNet(address, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		dialer := breezeway.NewNetDialer(address)
		defer dialer.Close()
		var clients, servers [2]net.Conn
		for i := range clients {
			if clients[i], err = dialer.Dial(context.Background()); err != nil {
				t.Fatal(err)
			}
			if servers[i], err = listener.Accept(); err != nil {
				t.Fatal(err)
			}
		}
		served := newPlainConn(servers[0])
		served.since = served.since.Add(-time.Hour)
		served.endAtRest()
		if !served.ending {
			t.Fatal("it is not ended at rest")
		}
		for _, client := range clients {
			if _, err := client.Write([]byte("request")); err != nil {
				t.Fatal(err)
			}
		}
		// Bytes of one session come in order.
		if _, err := io.ReadFull(servers[1], make([]byte, len("request"))); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(served, make([]byte, len("request"))); err != nil {
			t.Errorf("over %s the request is lost: %v", carrier, err)
		}
		if served.endAtRest(); served.ending {
			t.Error("it is ended while what was asked for runs")
		}
	}
}

func TestAServerThatStopsDoesNotWaitBehindARequestWithoutAReply(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	served := newPlainConn(server)
	defer served.Close()
	go func() { _, _ = client.Write([]byte("oneway")) }()
	if _, err := io.ReadFull(served, make([]byte, len("oneway"))); err != nil {
		t.Fatal(err)
	}
	served.since = served.since.Add(-time.Hour)
	if served.endAtRest(); served.ending {
		t.Fatal("it is ended while what was asked for runs")
	}
	ended := make(chan error, 1)
	go func() {
		_, err := served.Read(make([]byte, 1))
		ended <- err
	}()
	timeout := time.After(20 * time.Second)
	for {
		served.endAtRest()
		select {
		case err := <-ended:
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return
		case <-time.After(10 * time.Millisecond):
		case <-timeout:
			t.Fatal("it is waited for")
		}
	}
}

func TestShutdownBeforeServingEndsTheListener(t *testing.T) {
	services := map[string]*serviceinfo.ServiceInfo{}
	factory := &serverFactory{addresses: "unix:" + filepath.Join(t.TempDir(), "s"),
		services: func() any { return services }}
	s := &transServer{factory: factory, opts: &remote.ServerOption{ExitWaitTime: time.Minute}}
	listener, err := s.CreateListener(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := s.BootstrapServer(listener); err != nil {
		t.Error(err)
	}
}
