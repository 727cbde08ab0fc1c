package breezeway

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNothingIsWrittenBehindTheEndOfAReservation(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), (*Call).Echo)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, size := range []int{10, 4096} {
		space, err := conn.Reserve(contextOf(t), size)
		if err != nil {
			t.Fatal(err)
		}
		space.Truncate(5)
		for _, at := range []int64{5, 9, 5000, 1 << 40} {
			if n, err := space.WriteAt([]byte{1}, at); n != 0 || !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("of %d bytes, at %d: %d, %v", size, at, n, err)
			}
		}
		space.Abandon()
	}
}

func TestAServerWithoutAHandlerFailsCallsAndLogsNothing(t *testing.T) {
	logged := make(chan string, 10)
	server := &Server{Log: slog.New(slog.NewTextHandler(writer(func(line []byte) (int, error) {
		logged <- string(line)
		return len(line), nil
	}), nil))}
	if err := server.Listen("shm:" + filepath.Join(t.TempDir(), "s")); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	defer func() {
		_ = server.Close()
		soon(t, "the server's end", served)
		close(logged)
		for line := range logged {
			t.Errorf("it has logged %s", line)
		}
	}()
	conn, err := Dial(contextOf(t), server.Addresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Post(contextOf(t), 0, nil); err != nil {
		t.Fatal(err)
	}
	_, err = conn.Call(contextOf(t), 0, nil)
	var failure *CallError
	if !errors.As(err, &failure) || failure.Code != CodeNoSuchMethod {
		t.Fatalf("the call ended with %v", err)
	}
}

func TestAServerThatCouldNotListenCanBeClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	other, err := Listen("unix:"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, address := range []string{"nonsense", "unix:" + path, "tls:127.0.0.1:0"} {
		server, err := Listen(address, nil)
		if err == nil {
			t.Errorf("it listens at %s", address)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := server.Shutdown(contextOf(t)); err != nil {
			t.Error(err)
		}
	}
	if err := new(Server).Close(); err != nil {
		t.Error(err)
	}
}

func TestAppendToLeavesWhatWasThereOfAMessageThatWasReleased(t *testing.T) {
	_, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), (*Call).Echo)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Call(contextOf(t), 0, make([]byte, 1000))
	if err != nil {
		t.Fatal(err)
	}
	reply.Release()
	if to, err := reply.AppendTo([]byte("before")); string(to) != "before" ||
		!errors.Is(err, ErrReleased) {
		t.Errorf("%q, %v", to, err)
	}
}

func TestAServerThatCouldNotListenKeepsNothingOfThat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for name, opts := range map[string][]Option{
		"alone": nil, "with a successor's door": {TakeOver(true)},
	} {
		t.Run(name, func(t *testing.T) {
			server := &Server{Handler: (*Call).Echo}
			if err := server.Listen("unix:"+path+",unix:"+path+"/below", opts...); err == nil {
				t.Fatal("it listens below a file")
			}
			if err := server.Listen("unix:" + path); err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			if all := server.Addresses(); len(all) != 1 {
				t.Errorf("it listens at %v", all)
			}
		})
	}
}

func TestAPathThatFitsIsListenedAt(t *testing.T) {
	longest := len(unix.RawSockaddrUnix{}.Path) - 1
	for what, folder := range map[string]string{"name": os.TempDir(), "folder": t.TempDir()} {
		t.Run("a long "+what, func(t *testing.T) {
			name := fmt.Sprintf("%s/%d", folder, os.Getpid())
			if len(name) > longest {
				t.Skip("SKIPPED: the folder for temporary files has a long name")
			}
			name += strings.Repeat("x", longest-len(name))
			server, err := Listen("unix:"+name, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			conn, err := net.Dial("unix", name)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
		})
	}
}

func TestADescriptorThatFindsNoNumberIsAViolationWhereMessagesTravelOnTheSocket(t *testing.T) {
	theirs, ours := pair(t)
	raw, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	link := newSocketLink(Unix, ours, raw, 1<<20, nil)
	file, err := theirs.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, _, err = theirs.WriteMsgUnix([]byte{0}, unix.UnixRights(int(file.Fd())), nil)
	if err != nil {
		t.Fatal(err)
	}
	withoutDescriptors(t, func() {
		if err := link.fill(); !errors.As(err, new(*ViolationError)) {
			t.Errorf("reading gave %v", err)
		}
	})
}
