package breezeway

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/rand"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
	"github.com/breezeway-ipc/breezeway/go/internal/shm"
)

// A liar is a peer made by hand, which writes arbitrary bytes into its own segment and socket.
type liar struct {
	t     testing.TB
	conn  *net.UnixConn
	own   *segment.Mapping
	peer  *proto.Hello
	words proto.Words
	tail  uint64
	// control is the peer's control segment, if it was mapped.
	control *segment.Mapping
}

// await waits until a condition holds that the peer brings about. It does not end its goroutine.
func (l *liar) await(what string, is func() bool) {
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			l.t.Error(what + " does not happen")
			return
		}
	}
}

var liarHello = proto.Hello{RingCapacity: 64, LendCount: 64, PayloadCap: 1 << 20, Memory: true,
	StreamMessages: 4, StreamBytes: 4096, MaxStreams: 8}

// newLiar connects to a server, and sends a valid hello.
func newLiar(t testing.TB, path string) *liar {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{t: t, conn: conn}
	l.greet()
	hello, fds, err := receiveHello(conn, nil)
	closeAll(fds)
	if err != nil {
		t.Fatal(err)
	}
	l.peer = hello
	return l
}

func (l *liar) greet() { l.greetWith(&liarHello) }

func (l *liar) greetWith(hello *proto.Hello) {
	own, fd, err := shm.Control(hello, segment.Account{})
	if err != nil {
		l.t.Fatal(err)
	}
	defer unix.Close(fd)
	l.own = own
	if err := l.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		l.t.Fatal(err)
	}
	if err := sendHello(l.conn, hello.Encode(), fd); err != nil {
		l.t.Fatal(err)
	}
}

func (l *liar) close() {
	_ = l.conn.Close()
	l.own.Drop()
}

func (l *liar) slot() int {
	return proto.RingAt + int(l.tail%uint64(liarHello.RingCapacity))*proto.EntrySize
}

// publish publishes an entry and rings the doorbell.
func (l *liar) publish(head proto.Head, released uint16, body []byte) {
	l.words.Pack(&head, released, body)
	l.publishWords()
}

func (l *liar) publishWords() {
	for i, word := range l.words[1:] {
		l.own.Set(l.slot()+8*(i+1), word)
	}
	l.own.Store(l.slot(), l.tail+1)
	l.tail++
	l.ring()
}

func (l *liar) ring() { _, _ = l.conn.Write([]byte{0}) } // The peer may be gone already.

func (l *liar) sendFDs(b byte, fds ...int) {
	_, _, _ = l.conn.WriteMsgUnix([]byte{b}, unix.UnixRights(fds...), nil)
}

// sendUrgently sends a byte of urgent data with descriptors.
func (l *liar) sendUrgently(b byte, fds ...int) {
	raw, err := l.conn.SyscallConn()
	if err != nil {
		l.t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.Sendmsg(int(fd), []byte{b}, unix.UnixRights(fds...), nil, unix.MSG_OOB)
	})
}

// segment sends a payload segment, and announces it with the given number and size.
func (l *liar) segment(number uint32, size, announced int) {
	mapping, fd, err := segment.Create(size)
	if err != nil {
		l.t.Fatal(err)
	}
	defer mapping.Drop()
	l.sendFDs(1, fd)
	unix.Close(fd)
	l.publish(proto.Head{Kind: proto.KindSegmentAdd, Tag: number}, 0,
		binary.LittleEndian.AppendUint64(nil, uint64(announced)))
}

func (l *liar) lend(segment, lend uint32, offset, length uint64) {
	d := proto.Descriptor{Segment: segment, Lend: lend, Offset: offset, Length: length}.Encode()
	l.publish(proto.Head{Kind: proto.KindMessage, Flags: proto.RequestFlags | proto.FlagLent,
		Stream: 1}, 0, d[:])
}

// crossedReset is valid: it concerns a stream that the peer has already forgotten.
var crossedReset = proto.Head{Kind: proto.KindReset, Stream: 99, Tag: 5}

// withLie returns the lies and one that only one side can commit.
func withLie(name string, lie func(l *liar)) map[string]func(l *liar) {
	all := maps.Clone(lies)
	all[name] = lie
	return all
}

func goAway(l *liar) { l.publish(proto.Head{Kind: proto.KindGoAway}, 0, nil) }

// lies are violations of the rules of shared memory that either side can commit.
var lies = map[string]func(l *liar){
	"a sequence from the future": func(l *liar) { l.own.Store(l.slot(), 1000); l.ring() },
	"a length past the entry": func(l *liar) {
		l.words.Pack(&proto.Head{Kind: proto.KindMessage, Flags: 3, Stream: 1}, 0, nil)
		l.words[1] |= 105 << 16
		l.publishWords()
	},
	"kind 0": func(l *liar) { l.publish(proto.Head{}, 0, nil) },
	"a reserved kind": func(l *liar) {
		l.publish(proto.Head{Kind: proto.KindDeadline}, 0, nil)
	},
	"an unknown kind":      func(l *liar) { l.publish(proto.Head{Kind: 77}, 0, nil) },
	"a release of nothing": func(l *liar) { l.publish(crossedReset, 5, nil) },
	"a release past all":   func(l *liar) { l.publish(crossedReset, 65535, nil) },
	"an unknown segment":   func(l *liar) { l.lend(0, 0, 0, 100) },
	"a segment without fd": func(l *liar) {
		l.publish(proto.Head{Kind: proto.KindSegmentAdd}, 0, make([]byte, 8))
	},
	"a segment out of order": func(l *liar) { l.segment(1, 4096, 4096) },
	"a segment of no size":   func(l *liar) { l.segment(0, 4096, 0) },
	"a segment said larger":  func(l *liar) { l.segment(0, 4096, 8192) },
	"a segment past the cap": func(l *liar) { l.segment(0, 2<<20, 2<<20) },
	"a size that overflows":  func(l *liar) { l.segment(0, 4096, -1) },
	"retiring what is not": func(l *liar) {
		l.publish(proto.Head{Kind: proto.KindSegmentRetire, Tag: 3}, 0, nil)
	},
	"a payload behind the end": func(l *liar) {
		l.segment(0, 4096, 4096)
		l.lend(0, 0, 4000, 97)
	},
	"a payload above the cap": func(l *liar) {
		l.segment(0, 5<<18, 5<<18)
		l.lend(0, 0, 0, 1<<20+1)
	},
	"an empty payload":      func(l *liar) { l.segment(0, 4096, 4096); l.lend(0, 0, 0, 0) },
	"a lend number too big": func(l *liar) { l.segment(0, 4096, 4096); l.lend(0, lendCount, 0, 8) },
	"an end that overflows": func(l *liar) {
		l.segment(0, 4096, 4096)
		l.lend(0, 0, ^uint64(0), 2)
	},
	"an unknown byte": func(l *liar) { _, _ = l.conn.Write([]byte{7}) },
	"a descriptor with a doorbell": func(l *liar) {
		l.sendFDs(0, int(os.Stdin.Fd()))
	},
	"a descriptor with an urgent doorbell": func(l *liar) {
		l.sendUrgently(0, int(os.Stdin.Fd()))
		l.ring()
	},
	"a file for a segment": func(l *liar) { l.sendFDs(1, int(os.Stdin.Fd())) },
	"a segment byte alone": func(l *liar) { _, _ = l.conn.Write([]byte{1}) },
	"two descriptors":      func(l *liar) { l.sendFDs(1, int(os.Stdin.Fd()), int(os.Stdin.Fd())) },
	"a message on a stream that is not open": func(l *liar) {
		l.publish(proto.Head{Kind: proto.KindMessage, Stream: 9}, 0, nil)
	},
	"a call on the number of a stream": func(l *liar) {
		l.publish(proto.Head{Kind: proto.KindMessage,
			Flags:  proto.FlagOpen | proto.FlagStream | proto.FlagEmpty,
			Stream: 1}, 0, nil)
		l.publish(proto.Head{Kind: proto.KindMessage, Flags: proto.RequestFlags, Stream: 1}, 0,
			nil)
	},
	"a window of a few bytes": func(l *liar) {
		l.publish(proto.Head{Kind: proto.KindWindow, Stream: 1}, 0, []byte("few"))
	},
	"metadata behind the end": func(l *liar) {
		l.publish(proto.Head{Kind: proto.KindMessage, Flags: 3 | proto.FlagMetadata, Stream: 1},
			0, []byte{9, 0, 1})
	},
}

func hostileServer(t testing.TB) string {
	server := &Server{log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		handler: func(_ context.Context, call *Call) error { return call.Echo() },
		streams: func(_ context.Context, stream *Stream) {
			_,
				_ = stream.Recv(context.Background())
		}}
	path := filepath.Join(t.TempDir(), "s")
	if err := server.listen("shm:"+path, WithCap(1<<20)); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, ErrServerClosed) {
			t.Error(err)
		}
	})
	return path
}

// honest fails the test if another session of the server does not work.
func honest(t testing.TB, conn *Session) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	reply, err := conn.Call(ctx, 0, make([]byte, 3000))
	if err != nil {
		t.Fatalf("another session: %v", err)
	}
	reply.Release()
}

func TestAServerEndsTheSessionOfAClientThatLiesAndNoOther(t *testing.T) {
	path := hostileServer(t)
	other, err := Dial(context.Background(), "shm:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for name, lie := range withLie("a go-away from a client", goAway) {
		t.Run(name, func(t *testing.T) {
			l := newLiar(t, path)
			defer l.close()
			lie(l)
			// Doorbells, and then the end.
			if _, err := io.Copy(io.Discard, l.conn); err != nil &&
				!errors.Is(err, unix.ECONNRESET) {
				t.Errorf("the session goes on: %v", err)
			}
			honest(t, other)
		})
	}
}

func TestAClientEndsItsSessionWithAServerThatLies(t *testing.T) {
	for name, lie := range withLie("a second go-away", func(l *liar) { goAway(l); goAway(l) }) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			lying := make(chan *liar, 1)
			go func() {
				conn, err := listener.AcceptUnix()
				if err != nil {
					return
				}
				_, fds, _ := receiveHello(conn, nil)
				closeAll(fds)
				l := &liar{t: t, conn: conn}
				l.greet()
				lie(l)
				lying <- l
			}()
			conn, err := Dial(context.Background(), "shm:"+path, WithCap(1<<20))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, err = conn.Call(ctx, 0, make([]byte, 3000))
			var broken *ViolationError
			if !errors.As(err, &broken) {
				t.Errorf("the call ended with %v", err)
			}
			(<-lying).close()
		})
	}
}

// TestRandomLiesHarmNoOtherSession runs clients that write anything anywhere in their segment, at
// any time.
func TestRandomLiesHarmNoOtherSession(t *testing.T) {
	path := hostileServer(t)
	other, err := Dial(context.Background(), "shm:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	sessions := 300
	if testing.Short() {
		sessions = 60
	}
	random := rand.New(rand.NewSource(1))
	offsets := []int{proto.ConsumedAt, proto.DataWakeAt, proto.SpaceWakeAt, proto.ReleaseWakeAt,
		proto.ReleasedAt}
	for range sessions {
		l := newLiar(t, path)
		for range 1 + random.Intn(40) {
			switch random.Intn(4) {
			case 0:
				l.own.Store(offsets[random.Intn(len(offsets))], uint64(random.Intn(200))-100)
				l.ring()
			case 1:
				l.segment(uint32(random.Intn(2)), 4096, 4096)
			case 2:
				l.lend(0, uint32(random.Intn(66)), uint64(random.Intn(5000)),
					uint64(random.Intn(300)))
			default:
				head := proto.Head{Kind: proto.Kind(random.Intn(11)),
					Flags:  proto.Flags(random.Intn(256)),
					Stream: uint32(random.Intn(6)), Tag: random.Uint32() % 70,
					Time: uint16(random.Uint32())}
				l.publish(head, uint16(random.Intn(3)*random.Intn(2)),
					make([]byte, random.Intn(105)))
			}
		}
		honest(t, other)
		l.close()
	}
}
