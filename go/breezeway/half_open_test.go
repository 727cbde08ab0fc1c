package breezeway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// silentConns returns connections to an address on which nothing was sent.
func silentConns(t *testing.T, address Address, count int) []net.Conn {
	var list []net.Conn
	for range count {
		conn, err := connectTo(contextOf(t), address, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		list = append(list, conn)
	}
	return list
}

func TestHalfOpenClientsPastTheLimitPushOutTheOldest(t *testing.T) {
	const most, count = 8, 100
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), echoCall,
		WithHandshakeTimeout(time.Hour))
	server.mu.Lock()
	server.halfOpen.most = most
	server.mu.Unlock()
	before := pushedOut.Load()
	clients := silentConns(t, server.Addresses()[0], count)
	for number, conn := range clients[:count-most] {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Fatalf("client %d was not pushed out: %v", number, err)
		}
	}
	for number, conn := range clients[count-most:] {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("client %d of the last %d: %v", number, most, err)
		}
	}
	counted := Statistic{Name: "breezeway_clients_refused_total", Reason: "pushed_out",
		Value: before + count - most}
	if all := Statistics(); !slices.Contains(all, counted) {
		t.Errorf("no %v among %v", counted, all)
	}
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	honest(t, conn)
}

func TestSilentFloodOfOneHostKeepsNoOtherHostOut(t *testing.T) {
	server, address := quietServer(t, "tcp:127.0.0.1:0", echoCall, WithMaxSessions(4),
		WithHandshakeTimeout(time.Hour))
	server.mu.Lock()
	server.halfOpen.most = 64
	server.mu.Unlock()
	flooder := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	ctx, stop := context.WithCancel(contextOf(t))
	var floods sync.WaitGroup
	for range 2 {
		floods.Add(1)
		go func() {
			defer floods.Done()
			var open [100]net.Conn
			for i := 0; ctx.Err() == nil; i = (i + 1) % len(open) {
				if open[i] != nil {
					_ = open[i].Close()
				}
				conn, err := flooder.DialContext(ctx, "tcp", server.Addresses()[0].Path)
				if err != nil {
					conn = nil
				}
				open[i] = conn
			}
			for _, conn := range open {
				if conn != nil {
					_ = conn.Close()
				}
			}
		}()
	}
	for range 20 {
		conn, err := Dial(contextOf(t), address, WithHandshakeTimeout(20*time.Second))
		if err != nil {
			t.Error(err)
			break
		}
		honest(t, conn)
		_ = conn.Close()
	}
	stop()
	floods.Wait()
}

func TestHellosThatCompleteTogetherGetNoMoreThanMaxSessions(t *testing.T) {
	const most, count = 3, 10
	server, _ := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), echoCall,
		WithMaxSessions(most))
	hello := liarHello
	hello.Memory = false
	bytes := hello.Encode()
	clients := silentConns(t, server.Addresses()[0], count)
	for _, conn := range clients {
		_, _ = conn.Write(bytes[:len(bytes)-1])
	}
	for _, conn := range clients {
		_, _ = conn.Write(bytes[len(bytes)-1:])
	}
	served := 0
	for _, conn := range clients {
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _, err := receiveHello(conn, nil)
		var refused *proto.Refusal
		switch {
		case err == nil:
			served++
		case !errors.As(err, &refused) || refused.Status != proto.RefusedBusy:
			t.Errorf("a client got %v", err)
		}
	}
	if served != most {
		t.Errorf("%d sessions, where %d are allowed", served, most)
	}
}

func TestHalfOpenLimitIsPaidByTheSourceWithTheMost(t *testing.T) {
	all := newHalfOpens()
	all.most = 10
	user := func(uid uint32) source { return source{user: segment.User{Known: true, UID: uid}} }
	honest, _ := net.Pipe()
	all.add(honest, user(2))
	var flood []net.Conn
	for range 1000 {
		conn, _ := net.Pipe()
		victim := all.add(conn, user(1))
		if wanted := len(flood) - (all.most - 1); wanted < 0 && victim != nil ||
			wanted >= 0 && victim != flood[wanted] {
			t.Fatalf("after %d connections another one than number %d was pushed out", len(flood),
				wanted)
		}
		flood = append(flood, conn)
	}
	if !all.remove(honest) || all.remove(flood[0]) {
		t.Error("the other user's connection was pushed out")
	}
	all.renew(flood[len(flood)-9])
	if victim := all.oldestOfLargest(); victim != flood[len(flood)-8] {
		t.Error("a client that begins its hello is not younger than silent ones")
	}
	for _, conn := range flood {
		all.remove(conn)
	}
	if len(all.places) != 0 || len(all.sources) != 0 {
		t.Errorf("left over: %v, %v", all.places, all.sources)
	}
}

func TestHalfOpenSourceOverTCPIsTheHost(t *testing.T) {
	for _, hosts := range []struct {
		one, other string
		same       bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"2001:db8::1", "2001:db8::2", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"::ffff:192.0.2.1", "192.0.2.1", true},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
	} {
		one, other := netip.MustParseAddr(hosts.one), netip.MustParseAddr(hosts.other)
		if (hostOf(one) == hostOf(other)) != hosts.same {
			t.Errorf("%v and %v: one source is not %v", one, other, hosts.same)
		}
	}
}

func TestHalfOpenLimitLeavesDescriptorsForSessions(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	most := newHalfOpens().most
	if most < 1 || most > maxHalfOpen || uint64(most) > max(limit.Cur/4, 1) {
		t.Errorf("%d half-open clients of %d descriptors", most, limit.Cur)
	}
}
