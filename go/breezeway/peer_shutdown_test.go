package breezeway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A lastClient is a client by hand that shuts its session down before it has its replies.
type lastClient interface {
	// says sends entries, the last of which is a shutdown, and keeps the connection.
	says(entries ...lastEntry)
	// hears takes entries until the end of the connection.
	hears() []proto.Head
	// leaves closes the connection.
	leaves()
}

type lastEntry struct {
	flags  proto.Flags
	stream uint32
	body   string
}

var shutsDown = lastEntry{}

func (e lastEntry) head() proto.Head {
	if e == shutsDown {
		return proto.Head{Kind: proto.KindShutdown}
	}
	return proto.Head{Kind: proto.KindMessage, Flags: e.flags, Stream: e.stream}
}

func (c *byHand) says(entries ...lastEntry) {
	var frames []byte
	for _, e := range entries {
		frames = proto.AppendFrame(frames, e.head(), len(e.body))
		frames = append(frames, e.body...)
	}
	if _, err := c.conn.Write(frames); err != nil {
		c.t.Error(err)
	}
}

func (c *byHand) hears() (heard []proto.Head) {
	for {
		frame := make([]byte, proto.FrameLen)
		if _, err := io.ReadFull(c.conn, frame); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
				c.t.Error(err)
			}
			return heard
		}
		head, length, err := proto.DecodeFrame(frame, 1<<30)
		if err == nil {
			_, err = io.CopyN(io.Discard, c.conn, int64(length))
		}
		if err != nil {
			c.t.Error(err)
			return heard
		}
		heard = append(heard, head)
	}
}

func (c *byHand) leaves() { _ = c.conn.Close() }

func (c *caller) says(entries ...lastEntry) {
	for _, e := range entries {
		head := e.head()
		c.words.Pack(&head, 0, []byte(e.body))
		for i, word := range c.words[1:] {
			c.own.Set(c.slot()+8*(i+1), word)
		}
		c.own.Store(c.slot(), c.tail+1)
		c.tail++
	}
	c.ring()
}

func (c *caller) hears() (heard []proto.Head) {
	// The doorbells, and the end.
	if _, err := io.Copy(io.Discard, c.conn); err != nil && !errors.Is(err, unix.ECONNRESET) {
		c.t.Error(err)
	}
	for {
		at := proto.RingAt + int(c.head%uint64(c.peer.RingCapacity))*proto.EntrySize
		if c.control.Load(at) != c.head+1 {
			return heard
		}
		word := c.control.Load(at + 8)
		heard = append(heard, proto.Head{Kind: proto.Kind(word), Flags: proto.Flags(word >> 8),
			Stream: uint32(word >> 32)})
		c.head++
	}
}

func (c *caller) leaves() { _ = c.conn.Close() }

// lastClients connects a client to a server at a path, by carrier.
var lastClients = map[string]func(t *testing.T, path string) lastClient{
	"shm": func(t *testing.T, path string) lastClient { return newCaller(t, path) },
	"unix": func(t *testing.T, path string) lastClient {
		return dialByHand(t, "unix:"+path, smallHello())
	},
}

// onShutdown runs a test against a server of each carrier, with its one session.
func onShutdown(t *testing.T, server func() *Server, opts []ServerOption,
	test func(t *testing.T, client lastClient, s *session, ended <-chan error)) {
	for carrier, connect := range lastClients {
		t.Run(carrier, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			ended, served := make(chan error, 1), make(chan error, 1)
			server := server()
			all := append(slices.Clone(opts),
				WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
			if err := server.listen(carrier+":"+path, all...); err != nil {
				t.Fatal(err)
			}
			go func() { served <- server.Serve() }()
			t.Cleanup(func() {
				_ = server.Close()
				soon(t, "the server's end", served)
			})
			client := connect(t, path)
			test(t, client, sessionOf(t, server), ended)
		})
	}
}

func TestStreamsEndWithAShutdownThoughACallIsServed(t *testing.T) {
	type outcome struct{ received, read, sent error }
	var streams chan outcome
	server := func() *Server {
		streams = make(chan outcome, 1)
		mine, read := streams, make(chan struct{})
		return &Server{
			handler: func(_ context.Context, call *Call) error {
				<-read // Wait for the stream's reader.
				return call.Echo()
			},
			streams: func(_ context.Context, stream *Stream) {
				defer close(read)
				var o outcome
				var m Message
				m, o.received = stream.Recv(context.Background())
				m.Release()
				_, o.read = stream.Recv(context.Background())
				o.sent = stream.Send(context.Background(), []byte("behind it"))
				mine <- o
			},
		}
	}
	onShutdown(t, server, nil,
		func(t *testing.T, client lastClient, _ *session, ended <-chan error) {
			client.says(lastEntry{proto.FlagOpen | proto.FlagStream, 1, "first"},
				lastEntry{proto.RequestFlags, 3, "x"}, shutsDown)
			o := soon(t, "the stream's end", streams)
			if o.received != nil || !errors.Is(o.read, ErrPeerClosed) ||
				!errors.Is(o.sent, ErrPeerClosed) {
				t.Errorf("a stream behind the shutdown: %v, %v, %v", o.received, o.read, o.sent)
			}
			want := []proto.Head{{Kind: proto.KindMessage, Flags: proto.FlagFin, Stream: 3}}
			if heard := client.hears(); !slices.Equal(heard, want) {
				t.Errorf("behind the shutdown came %v", heard)
			}
			if err := soon(t, "the session's end", ended); err != nil {
				t.Error(err)
			}
		})
}

func TestAServedCallIsCancelledByItsClientsDeathAndNoShutdown(t *testing.T) {
	var began chan context.Context
	server := func() *Server {
		began = make(chan context.Context, 2)
		mine := began
		return &Server{handler: func(ctx context.Context, call *Call) error {
			mine <- ctx
			<-ctx.Done()
			return call.Echo()
		}}
	}
	onShutdown(t, server, []ServerOption{WithOffload(4)},
		func(t *testing.T, client lastClient, s *session, ended <-chan error) {
			client.says(lastEntry{proto.RequestFlags, 1, "x"},
				lastEntry{proto.RequestFlags, 3, "y"}, shutsDown)
			calls := []context.Context{soon(t, "a call", began), soon(t, "a call", began)}
			until(t, s, "the shutdown", func() bool { return s.ending() != nil })
			for _, ctx := range calls {
				if err := ctx.Err(); err != nil {
					t.Errorf("a shutdown has cancelled a call: %v", context.Cause(ctx))
				}
			}
			client.leaves()
			for _, ctx := range calls {
				soon(t, "the end of the context", ctx.Done())
				if err := context.Cause(ctx); !errors.Is(err, ErrPeerClosed) &&
					!errors.Is(err, context.Canceled) {
					t.Errorf("the context ended for %v", err)
				}
			}
			if err := soon(t, "the session's end", ended); err != nil {
				t.Error(err)
			}
		})
}

// Entries of a client behind its shutdown may break rules: they are not read.
func TestEntriesBehindShutdownAreNotRead(t *testing.T) {
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) { readsNothingBehind(t, policy) })
	}
}

func readsNothingBehind(t *testing.T, policy WaitPolicy) {
	var may chan struct{}
	server := func() *Server {
		may = make(chan struct{})
		mine := may
		return &Server{handler: func(_ context.Context, call *Call) error {
			<-mine
			return call.Echo()
		}}
	}
	onShutdown(t, server, []ServerOption{WithOffload(4), WithWaitPolicy(policy)},
		func(t *testing.T, client lastClient, s *session, ended <-chan error) {
			broken := lastEntry{proto.FlagError | proto.FlagEmpty, 2, "z"}
			client.says(lastEntry{proto.RequestFlags, 1, "x"}, shutsDown, broken, broken)
			until(t, s, "the shutdown", func() bool { return s.ending() != nil })
			client.says(broken)
			until(t, s, "its sleep", func() bool { return s.inPoller })
			close(may)
			want := []proto.Head{{Kind: proto.KindMessage, Flags: proto.FlagFin, Stream: 1}}
			if heard := client.hears(); !slices.Equal(heard, want) {
				t.Errorf("behind the shutdown came %v", heard)
			}
			if err := soon(t, "the session's end", ended); err != nil {
				t.Error(err)
			}
		})
}

// release releases the last entry's payload, and rings the doorbell if the peer wants that.
func (c *caller) release() {
	if c.lent == 0 {
		c.t.Error("nothing is lent")
		return
	}
	lend := int(c.lent - 1)
	c.own.Flip(proto.ReleasedAt+8*(lend/64), 1<<(lend%64))
	if c.control.Load(proto.ReleaseWakeAt) != 0 {
		c.ring()
	}
}

// nextReply waits for the next message and returns its stream.
func (c *caller) nextReply() (stream uint32) {
	c.t.Helper()
	for {
		at := proto.RingAt + int(c.head%uint64(c.peer.RingCapacity))*proto.EntrySize
		stream, came := c.next()
		if !came {
			c.t.Fatal("no reply comes")
		}
		if proto.Kind(c.control.Load(at+8)) == proto.KindMessage {
			return stream
		}
	}
}

const twoFit = 400_000 // Two messages of this length fit into the memory of a liar.

func TestAReplyThatLacksMemoryBehindAShutdownWaitsForIt(t *testing.T) {
	const calls = 6
	for name, offload := range map[string]int{"inline": 0, "offloaded": calls} {
		t.Run(name, func(t *testing.T) {
			path, ended := filepath.Join(t.TempDir(), "s"), make(chan error, 1)
			server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
				return call.Reply(make([]byte, twoFit))
			}, WithOffload(offload), WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
			client := newCaller(t, path)
			s := sessionOf(t, server)
			asks(client, calls, shutsDown)
			until(t, s, "the wait for memory behind the shutdown", func() bool {
				return s.ending() != nil && s.memoryWaits > 0
			})
			for range calls {
				client.nextReply()
				client.release()
			}
			if err := soon(t, "the session's end", ended); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAReplyThatLacksASlotBehindAShutdownWaitsForIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	may := make(chan struct{})
	server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
		<-may
		return call.Echo()
	})
	client := newCaller(t, path)
	s := sessionOf(t, server)
	client.says(lastEntry{proto.RequestFlags, 1, "x"}, shutsDown)
	s.mu.Lock()
	for s.memory.end.Publish(&crossedReset, nil) == nil { // The shutdown may be unread.
	}
	s.flush()
	s.mu.Unlock()
	close(may)
	until(t, s, "the wait for a slot behind the shutdown", func() bool {
		return s.ending() != nil && len(s.roomWaiters) > 0
	})
	for client.nextReply() != 1 {
	}
}

func TestAReplyThatASocketLacksRoomForWaitsBehindAShutdown(t *testing.T) {
	const size, calls = 1 << 20, 3
	for name, offload := range map[string]int{"inline": 0, "offloaded": calls} {
		for how, ends := range map[string]func(*net.UnixConn) error{
			"":             func(*net.UnixConn) error { return nil },
			" half closed": (*net.UnixConn).CloseWrite,
		} {
			t.Run(name+how, func(t *testing.T) {
				address := "unix:" + filepath.Join(t.TempDir(), "s")
				server, _ := quietServer(t, address, func(_ context.Context, call *Call) error {
					return call.Reply(bytes.Repeat([]byte{7}, size))
				}, WithOffload(offload))
				client := dialByHand(t, address, smallHello())
				s := sessionOf(t, server)
				asks(client, calls, shutsDown)
				if err := ends(client.conn.(*net.UnixConn)); err != nil {
					t.Fatal(err)
				}
				until(t, s, "the wait for room behind the shutdown", func() bool {
					return s.ending() != nil && len(s.roomWaiters) > 0
				})
				if heard := client.hears(); len(heard) != calls {
					t.Errorf("%d replies came", len(heard))
				}
			})
		}
	}
}
