package breezeway

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leaveSocketFile leaves the socket file of a server that has died.
func leaveSocketFile(t *testing.T, path string) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	_ = listener.Close()
}

// TestListenAtMountedSocketFileNamesItsFolder mounts the file in a namespace of one thread.
func TestListenAtMountedSocketFileNamesItsFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	leaveSocketFile(t, path)
	outcome := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Without an unlock, the thread ends with this goroutine.
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			outcome <- nil
			return
		}
		err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		if err = errors.Join(err, unix.Mount(path, path, "", unix.MS_BIND, "")); err != nil {
			outcome <- nil
			return
		}
		server := &Server{}
		err = server.listen("shm:" + path)
		if err == nil {
			_ = server.Close()
			err = errors.New("it listens")
		}
		outcome <- err
	}()
	err := soon(t, "an outcome", outcome)
	if err == nil {
		t.Skip("this process may not mount")
	}
	if !strings.Contains(err.Error(), "mount its folder") {
		t.Error(err)
	}
}

func TestServersStartedAtOnceExactlyOneListens(t *testing.T) {
	const servers, turns = 8, 40
	for turn := range turns {
		path := filepath.Join(t.TempDir(), "s")
		if turn%2 == 1 {
			leaveSocketFile(t, path)
		}
		var listening [servers]*Server
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range servers {
			all.Add(1)
			go func() {
				defer all.Done()
				<-start
				if server, err := Listen("unix:"+path, echoCall); err == nil {
					listening[i] = server
				}
			}()
		}
		close(start)
		all.Wait()
		count := 0
		for _, server := range listening {
			if server == nil {
				continue
			}
			count++
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("turn %d: the socket file of a server that listens: %v", turn, err)
			}
			_ = server.Close()
		}
		if count != 1 {
			t.Errorf("turn %d: %d servers listen", turn, count)
		}
	}
}

func TestServerStartedWhileAnotherEndsKeepsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	server, err := Listen("unix:"+path, echoCall)
	if err != nil {
		t.Fatal(err)
	}
	for turn := range 200 {
		ended := make(chan struct{})
		ending := server
		go func() {
			defer close(ended)
			_ = ending.Close()
		}()
		for until := time.Now().Add(20 * time.Second); ; {
			if server, err = Listen("unix:"+path, echoCall); err == nil {
				break
			}
			if time.Now().After(until) {
				t.Fatal(err)
			}
		}
		<-ended
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		_ = conn.Close()
	}
	_ = server.Close()
}

func TestListenFolderLockHeldGoesOnWithoutIt(t *testing.T) {
	folder := t.TempDir()
	held, err := os.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "s")
	began := time.Now()
	server, err := Listen("unix:"+path, echoCall)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if waited := time.Since(began); waited < turnTries*turnPause {
		t.Errorf("it waited %v for its turn", waited)
	}
	if _, err := Listen("unix:"+path, echoCall); !errors.Is(err, errServed) {
		t.Errorf("a second server got %v", err)
	}
}

func TestSocketFileHasItsModeWhateverTheUmask(t *testing.T) {
	for _, mode := range []uint32{0o600, 0o666, 0o400} {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%o", mode))
		server, err := Listen("unix:"+path, echoCall, WithSocketMode(mode))
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(path); err != nil || uint32(info.Mode().Perm()) != mode {
			t.Errorf("mode %v, %v where %o was asked for", info.Mode(), err, mode)
		}
		_ = server.Close()
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file of a closed server: %v", err)
		}
	}
}

func TestListenThatFailsLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for name, opts := range map[string][]ServerOption{
		"alone": nil, "with a successor's door": {WithTakeOver(true)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, address := range []string{"nonsense", "unix:" + path + ",tls:127.0.0.1:0",
				"unix:" + path + ",unix:" + path + "/below"} {
				server, err := Listen(address, echoCall, opts...)
				if server != nil || err == nil {
					t.Fatalf("it listens at %s", address)
				}
			}
			server, err := Listen("unix:"+path, echoCall)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
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
