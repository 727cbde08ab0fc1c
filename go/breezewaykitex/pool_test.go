package breezewaykitex

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/cloudwego/kitex/pkg/remote"
)

func TestSessionForAnInstanceThatHasLeftEndsWithItsCall(t *testing.T) {
	const left = "shm:/nowhere"
	p := newPool(nil)
	defer p.Close()
	p.keep([]string{left})
	p.keep([]string{"shm:/elsewhere"})
	conn, err := p.Get(context.Background(), network, left, remote.ConnOption{})
	if err != nil {
		t.Fatal(err)
	}
	client := conn.(*clientCall).session.Client
	if err := p.Put(conn); err != nil {
		t.Fatal(err)
	}
	if len(p.sessions) > 0 {
		t.Errorf("sessions are left: %v", p.sessions)
	}
	if _, err := client.Call(context.Background(), 0, nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it is not closed: %v", err)
	}
}
