package breezeway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// A caller is a peer made by hand that reads the peer's ring.
type caller struct {
	*liar
	head uint64
	// lent is 1 + the lend number of the last entry, 0 without one.
	lent uint16
}

// newCaller connects to a server.
func newCaller(t *testing.T, path string) *caller { return newCallerWith(t, path, &liarHello) }

// newCallerWith connects to a server with a hello that has liarHello's ring.
func newCallerWith(t *testing.T, path string, own *proto.Hello) *caller {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{t: t, conn: conn}
	l.greetWith(own)
	hello, fds, err := receiveHello(conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(fds)
	l.peer = hello
	if l.control, err = segment.Map(fds[0], proto.ControlSize(hello.RingCapacity)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.close()
		l.control.Drop()
	})
	return &caller{liar: l}
}

// next waits for the peer's next entry, and returns its stream, or false if there is none.
func (c *caller) next() (stream uint32, came bool) {
	at := proto.RingAt + int(c.head%uint64(c.peer.RingCapacity))*proto.EntrySize
	for end := time.Now().Add(10 * time.Second); c.control.Load(at) != c.head+1; {
		if time.Now().After(end) {
			return 0, false
		}
		time.Sleep(50 * time.Microsecond) // Yielding keeps the runtime from its poller.
	}
	word := c.control.Load(at + 8)
	stream, c.lent = uint32(word>>32), 0
	if proto.Kind(word) == proto.KindMessage && proto.Flags(word>>8).Has(proto.FlagLent) {
		c.lent = uint16(c.control.Load(at+24)>>32) + 1
	}
	c.head++
	c.own.Store(proto.ConsumedAt, c.head)
	return stream, true
}

// publishUnrung publishes an entry. The caller rings the doorbell.
func (c *caller) publishUnrung(head proto.Head) {
	c.words.Pack(&head, 0, nil)
	for i, word := range c.words[1:] {
		c.own.Set(c.slot()+8*(i+1), word)
	}
	c.own.Store(c.slot(), c.tail+1)
	c.tail++
}

// ringTimes rings the doorbell without waiting for room, as section 5 of docs/abi.md allows.
func (c *caller) ringTimes(count int) {
	raw, err := c.conn.SyscallConn()
	if err != nil {
		c.t.Error(err)
		return
	}
	_ = raw.Control(func(fd uintptr) {
		for range count {
			_, _ = unix.SendmsgN(int(fd), []byte{0}, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		}
	})
}

// doorbells holds how many pending segments a peer sends first, and how many doorbells with each
// entry.
var doorbells = []struct{ pending, rings int }{
	{20, 1}, {0, 1}, {proto.MaxPendingSegments, 2}, {proto.MaxPendingSegments, 1000},
}

func TestClientWithPendingSegmentsAndDoorbellsIsServed(t *testing.T) {
	for name, policy := range policies {
		for _, many := range doorbells {
			t.Run(fmt.Sprint(name, many), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "s")
				quietServer(t, "shm:"+path, echoCall, WithWaitPolicy(policy))
				c := newCaller(t, path)
				c.sendPending(many.pending)
				for call := range uint32(max(1000/many.rings, 50)) {
					stream := 2*call + 1
					c.publishUnrung(proto.Head{Kind: proto.KindMessage,
						Flags: proto.RequestFlags, Stream: stream})
					c.ringTimes(many.rings)
					if got, came := c.next(); !came || got != stream {
						t.Fatalf("call %d: a reply on stream %d, %v", call, got, came)
					}
				}
			})
		}
	}
}

func TestServerWithPendingSegmentsAndDoorbellsIsHeard(t *testing.T) {
	for name, policy := range policies {
		for _, many := range doorbells {
			t.Run(fmt.Sprint(name, many), func(t *testing.T) {
				calls := max(1000/many.rings, 50)
				served := make(chan struct{})
				address := lyingServer(t, func(l *liar) {
					defer close(served)
					c := &caller{liar: l}
					c.sendPending(many.pending)
					for range calls {
						stream, came := c.next()
						if !came {
							t.Error("no call comes")
							break
						}
						c.publishUnrung(proto.Head{Kind: proto.KindMessage, Flags: proto.FlagFin,
							Stream: stream})
						c.ringTimes(many.rings)
					}
					c.next() // The client's farewell.
					l.close()
				})
				conn, err := Dial(context.Background(), address, WithWaitPolicy(policy))
				if err != nil {
					t.Fatal(err)
				}
				for call := range calls {
					reply, err := conn.Call(contextOf(t), 0, nil)
					if err != nil {
						t.Fatalf("call %d: %v", call, err)
					}
					reply.Release()
				}
				_ = conn.Close()
				soon(t, "the server's end", served)
			})
		}
	}
}

func TestPendingSegmentsAreBoundedByTheirBytes(t *testing.T) {
	const segmentCap = 5 << 18 // A quarter above the cap in a liar's hello.
	for name, c := range map[string]struct {
		sizes []int
		ends  bool
	}{
		"twice the cap":          {[]int{segmentCap, segmentCap}, false},
		"more than that":         {[]int{segmentCap, segmentCap, 4096}, true},
		"many of them":           {[]int{1 << 20, 1 << 20, 1 << 19, 1 << 19}, true},
		"one that is above it":   {[]int{segmentCap + 4096}, true},
		"one without its memory": {[]int{-4096}, true},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			path := filepath.Join(t.TempDir(), "s")
			quietServer(t, "shm:"+path, echoCall,
				WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
			client := newCaller(t, path)
			for _, size := range c.sizes {
				client.sendPendingOf(size)
			}
			client.publishUnrung(proto.Head{Kind: proto.KindMessage, Flags: proto.RequestFlags,
				Stream: 1})
			client.ringTimes(1)
			if c.ends {
				err := soon(t, "the session's end", ended)
				if !errors.As(err, new(*ViolationError)) {
					t.Errorf("the session ended by %v", err)
				}
			} else if stream, came := client.next(); !came || stream != 1 {
				t.Error("no reply comes")
			}
		})
	}
}

// sendPendingOf sends a segment that is not announced. A negative size stands for one without
// memory.
func (l *liar) sendPendingOf(size int) {
	mapping, fd, err := segment.Create(max(size, 4096))
	if err != nil {
		l.t.Fatal(err)
	}
	defer mapping.Drop()
	if size < 0 {
		unix.Close(fd)
		fd, err = unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err == nil {
			err = unix.Ftruncate(fd, int64(-size))
		}
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
				unix.F_SEAL_SHRINK|unix.F_SEAL_FUTURE_WRITE)
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
	l.sendFDs(1, fd)
	unix.Close(fd)
}
