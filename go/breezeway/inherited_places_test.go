package breezeway

import (
	"net"
	"path/filepath"
	"testing"
)

func TestInheritedSocketServesAddressesThatNameIt(t *testing.T) {
	port, unspecified := 70, net.IPv6unspecified
	at := func(ip net.IP) net.Addr { return &net.TCPAddr{IP: ip, Port: port} }
	path := filepath.Join(t.TempDir(), "s")
	for _, c := range []struct {
		at      net.Addr
		address string
		serves  bool
	}{
		{at(net.IPv4(127, 0, 0, 1)), "tcp:127.0.0.1:70", true},
		{at(net.IPv4(127, 0, 0, 1)), "tls:127.0.0.1:gopher", true},
		{at(net.IPv4(127, 0, 0, 1)), "tcp:localhost:70", true},
		{at(net.IPv4(127, 0, 0, 1)), "tcp:127.0.0.2:70", false},
		{at(net.IPv4(127, 0, 0, 1)), "tcp:127.0.0.1:71", false},
		{at(net.IPv4(127, 0, 0, 1)), "tcp:127.0.0.1:no-such-service", false},
		{at(net.IPv4(127, 0, 0, 1)), "tcp::70", false},
		{at(unspecified), "tcp::70", true},
		{at(unspecified), "tcp:[::]:70", true},
		{at(unspecified), "unix:" + path, false},
		{&net.UnixAddr{Name: path}, "shm:" + path, true},
		{&net.UnixAddr{Name: path}, "unix:" + path, true},
		{&net.UnixAddr{Name: path}, "unix:" + path + "2", false},
		{&net.UnixAddr{Name: path}, "tcp:127.0.0.1:70", false},
	} {
		address, err := ParseAddress(c.address)
		if err != nil {
			t.Fatal(err)
		}
		if serves := listensAt(listenerAt{at: c.at}, address); serves != c.serves {
			t.Errorf("a socket at %v serves %v: %v", c.at, address, serves)
		}
	}
}

func TestASuccessorMayNameAPortByItsService(t *testing.T) {
	for _, c := range []struct {
		offered, wanted string
		serves          bool
	}{
		{"tcp:localhost:80", "tcp:localhost:http", true},
		{"tcp:localhost:80", "tcp:localhost:0", true},
		{"tcp:localhost:80", "tcp:localhost:https", false},
		{"tcp:localhost:80", "tcp:localhost:no-such-service", false},
		{"tcp:localhost:80", "tls:localhost:http", false},
		{"tcp:localhost:80", "tcp:127.0.0.1:http", false},
	} {
		offered, err := ParseAddress(c.offered)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := ParseAddress(c.wanted)
		if err != nil {
			t.Fatal(err)
		}
		if serves := (&offer{address: offered}).serves(wanted); serves != c.serves {
			t.Errorf("%v is taken for %v: %v", offered, wanted, serves)
		}
	}
}

func TestEachServerOfAProcessHasTheSocketsThatWerePassedOnForIt(t *testing.T) {
	folder := t.TempDir()
	var passedOn []net.Listener
	for _, name := range []string{"first", "second"} {
		socket, err := net.Listen("unix", filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		passedOn = append(passedOn, socket)
	}
	defer func(was func() []net.Listener) { inherited = was }(inherited)
	inherited = func() []net.Listener { return passedOn }
	for _, name := range []string{"first", "second", "first"} { // The last after a close.
		address := "shm:" + filepath.Join(folder, name)
		server, err := Listen(address, echoCall, WithTakeOver(true))
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- server.Serve() }()
		conn, err := Dial(contextOf(t), address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Call(contextOf(t), 0, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		_ = server.Close()
		if err := <-served; err != ErrServerClosed {
			t.Error(err)
		}
	}
}

// A listenerAt is a listener with an address.
type listenerAt struct {
	net.Listener
	at net.Addr
}

func (l listenerAt) Addr() net.Addr { return l.at }
