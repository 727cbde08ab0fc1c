package breezeway

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// byHand is a client of a unix socket that keeps the frames valid, and no other rule.
type byHand struct {
	t    *testing.T
	conn net.Conn
}

func dialByHand(t *testing.T, address string, hello proto.Hello) *byHand {
	t.Helper()
	where, err := ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", where.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.Write(hello.Encode()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := receiveHello(conn, nil); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return &byHand{t, conn}
}

func aFrame(kind proto.Kind, flags proto.Flags, stream uint32, body []byte) []byte {
	head := proto.Head{Kind: kind, Flags: flags, Stream: stream}
	return append(proto.AppendFrame(nil, head, len(body)), body...)
}

// ask sends a call.
func (c *byHand) ask(number int, body []byte) error {
	_, err := c.conn.Write(aFrame(proto.KindMessage, proto.RequestFlags, uint32(2*number+1),
		body))
	return err
}

// takeReplies takes count replies without bytes.
func (c *byHand) takeReplies(count int) {
	c.t.Helper()
	if n, err := io.ReadFull(c.conn, make([]byte, count*proto.FrameLen)); err != nil {
		c.t.Fatalf("%d bytes of %d replies came: %v", n, count, err)
	}
}

// sessionOf returns a server's only session, which the server lists shortly after the handshake.
func sessionOf(t *testing.T, server *Server) *session {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if all := server.all(); len(all) > 0 {
			return all[0]
		}
	}
	t.Fatal("the session is not listed")
	return nil
}

func smallHello() proto.Hello {
	return proto.Hello{RingCapacity: 8, LendCount: 64, PayloadCap: 64 << 20, StreamMessages: 4,
		StreamBytes: 4096, MaxStreams: 8}
}

func TestAClientWithMoreCallsThanAgreedLosesItsSession(t *testing.T) {
	const most = 4 // Of a ring of 8.
	began, release := make(chan struct{}, most), make(chan struct{})
	ended := make(chan error, 1)
	_, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error {
			began <- struct{}{}
			<-release
			return call.Reply(nil)
		}, WithRingCapacity(8), WithOffload(64), WithOnSessionEnd(func(_ Peer,
			err error) {
			ended <- err
		}))
	client := dialByHand(t, address, smallHello())
	for number := range most {
		if err := client.ask(number, nil); err != nil {
			t.Fatal(err)
		}
		soon(t, "a handler", began)
	}
	if err := client.ask(most, nil); err != nil {
		t.Fatal(err)
	}
	err := soon(t, "the session's end", ended)
	if err == nil || !strings.Contains(err.Error(), "more calls in flight than the agreed 4") {
		t.Errorf("the session ends by %v", err)
	}
	close(release)
	_ = client.conn.Close()
}

func TestANumberOfACallThatWaitsEndsTheSession(t *testing.T) {
	ended := make(chan error, 1)
	_, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), echoCall,
		WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
	client := dialByHand(t, address, smallHello())
	call := aFrame(proto.KindMessage, proto.RequestFlags, 1, nil)
	if _, err := client.conn.Write(append(call, call...)); err != nil {
		t.Fatal(err)
	}
	err := soon(t, "the session's end", ended)
	if err == nil || !strings.Contains(err.Error(), "opens number 1, which is in use") {
		t.Errorf("the session ends by %v", err)
	}
}

func TestCallsThatAreReadAheadAreBoundedByTheirBytes(t *testing.T) {
	const size, calls = 1 << 20, 40
	release := make(chan struct{})
	server, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"),
		func(_ context.Context, call *Call) error {
			<-release
			return call.Reply(nil)
		}, WithOffload(1), WithCap(2*size))
	hello := smallHello()
	hello.RingCapacity, hello.PayloadCap = 1024, 2*size
	client := dialByHand(t, address, hello)
	sent := make(chan error, 1)
	go func() {
		for number := range calls {
			if err := client.ask(number, make([]byte, size)); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	session := sessionOf(t, server)
	until(t, session, "reading stops", func() bool { return !session.rules.TakesEntries() })
	session.mu.Lock()
	waiting := session.waiting
	session.mu.Unlock()
	if waiting > 3 {
		t.Errorf("%d calls of a MiB wait where messages of 2 MiB are taken", waiting)
	}
	close(release)
	client.takeReplies(calls)
	if err := soon(t, "the last call", sent); err != nil {
		t.Error(err)
	}
}

// flooded returns a session whose client has sent more one-way messages than may wait. Each message
// sends to began, and ends with release.
func flooded(t *testing.T, opts ...ServerOption) (s *session, began, release chan struct{}) {
	t.Helper()
	began, release = make(chan struct{}, 2*proto.MaxOneWay), make(chan struct{})
	server, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"),
		func(context.Context, *Call) error {
			began <- struct{}{}
			<-release
			return nil
		}, opts...)
	hello := smallHello()
	hello.MaxStreams = 0
	client := dialByHand(t, address, hello)
	s = sessionOf(t, server)
	post := aFrame(proto.KindMessage, proto.OneWayFlags, 1, nil)
	if _, err := client.conn.Write(post); err != nil {
		t.Fatal(err)
	}
	soon(t, "the first message", began)
	if _, err := client.conn.Write(bytes.Repeat(post, proto.MaxOneWay+10)); err != nil {
		t.Fatal(err)
	}
	return s, began, release
}

func TestOneWayMessagesWithoutAWindowStopReadingAtTheirNumber(t *testing.T) {
	session, began, release := flooded(t)
	for session.rules.TakesEntries() { // No other goroutine reads while the handler runs.
		session.catchUp()
	}
	session.mu.Lock()
	waiting := session.waiting
	session.mu.Unlock()
	if waiting != proto.MaxOneWay {
		t.Errorf("%d messages wait", waiting)
	}
	close(release)
	for range proto.MaxOneWay + 10 {
		soon(t, "a message", began)
	}
}

func TestFloodedSessionPublishesItsNumbers(t *testing.T) {
	session, _, release := flooded(t, WithOffload(1))
	defer close(release)
	for isFlooded := false; !isFlooded; runtime.Gosched() {
		session.mu.Lock()
		isFlooded = !session.rules.AwaitsPeer() && !session.leading
		published, waiting := session.record.arrivals, uint64(session.waiting)
		session.mu.Unlock()
		if isFlooded && published != waiting {
			t.Errorf("%d of %d messages that wait are published", published, waiting)
		}
	}
}

func TestSleepAfterASuspendOfTheMachineIsPublishedWithItsTime(t *testing.T) {
	server, address := quietServer(t, "unix:"+filepath.Join(t.TempDir(), "s"), echoCall)
	client := dialByHand(t, address, smallHello())
	session := sessionOf(t, server)
	// As if the machine had been suspended since for an hour.
	session.mu.Lock()
	session.record.since -= uint64(time.Hour)
	session.mu.Unlock()
	before := sinceBoot()
	call := aFrame(proto.KindMessage, proto.RequestFlags, 1, nil)
	if _, err := client.conn.Write(call); err != nil {
		t.Fatal(err)
	}
	for isAsleep := false; !isAsleep; runtime.Gosched() {
		session.mu.Lock()
		isAsleep = session.record.received.entries[aCall] > 0 && session.record.waitsFor != 0
		since := session.record.waitsSince
		session.mu.Unlock()
		if isAsleep && since < before {
			t.Errorf("it sleeps since %v before the call", time.Duration(before-since))
		}
	}
}

func TestBacklogOfResetsForUnreadingPeerIsBounded(t *testing.T) {
	ended := make(chan error, 1)
	server := &Server{streams: func(_ context.Context, stream *Stream) {
		_,
			_ = stream.Recv(context.Background())
	}}
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	err := server.listen(address, WithOnSessionEnd(func(_ Peer, err error) { ended <- err }))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	defer func() {
		_ = server.Close()
		soon(t, "the server's end", served)
	}()
	client := dialByHand(t, address, smallHello())
	session := sessionOf(t, server)
	const rounds = 40_000
	for number := uint32(1); number < 2*rounds; {
		var frames []byte
		for range 1000 {
			frames = append(frames, aFrame(proto.KindMessage,
				proto.FlagOpen|proto.FlagStream|proto.FlagEmpty, number, nil)...)
			frames = append(frames, aFrame(proto.KindReset, 0, number, nil)...)
			number += 2
		}
		if _, err := client.conn.Write(frames); err != nil {
			soon(t, "the session's end", ended)
			return // It opened one more before it had read that others were over.
		}
		session.mu.Lock()
		unwritten := session.socket.unwritten()
		session.mu.Unlock()
		if unwritten > 2*proto.MaxUnwritten {
			t.Fatalf("%d bytes wait to be written", unwritten)
		}
	}
	soon(t, "the session's end", ended)
}

// flood posts as many messages as a server keeps for a client without a window, and one more that a
// handler takes up.
func (c *caller) flood(t *testing.T) {
	t.Helper()
	for range proto.MaxOneWay + 1 {
		eventually(t, "a slot for a message", func() bool {
			return c.tail-c.control.Load(proto.ConsumedAt) < uint64(liarHello.RingCapacity)
		})
		c.publishUnrung(proto.Head{Kind: proto.KindMessage, Flags: proto.OneWayFlags, Stream: 1})
		c.ringTimes(1)
	}
}

func TestFloodedSessionsReplyTakesReleasedMemory(t *testing.T) {
	hello := liarHello
	hello.MaxStreams = 0
	for name, offload := range map[string]int{"inline": 0, "offloaded": 1} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			server, _ := quietServer(t, "shm:"+path, func(_ context.Context, call *Call) error {
				if call.IsOneWay() {
					return nil
				}
				return call.Reply(make([]byte, twoFit))
			}, WithOffload(offload), WithReplyTimeout(15*time.Second))
			client := newCallerWith(t, path, &hello)
			s := sessionOf(t, server)
			asks(client, 3)
			client.nextReply()
			client.nextReply()
			until(t, s, "the wait for memory", func() bool { return s.memoryWaits > 0 })
			client.flood(t)
			until(t, s, "the flood", func() bool { return !s.rules.TakesEntries() && !s.leading })
			client.release()
			if number := client.nextReply(); number != 5 {
				t.Errorf("call %d is replied to", number)
			}
		})
	}
}
