package breezeway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// This is the service of testing/interop and its clients' cases in Go: see service.rs and
// cases.rs there. Every client is tried with every server.

// Methods of calls, beside echo, and of streams.
const (
	hold     = 1
	givenUp  = 2
	patience = 3
	openGate = 4
	leave    = 5
	who      = 6
	held     = 7

	bounceStream   = 0
	collectStream  = 1
	expandStream   = 2
	slowStream     = 3
	resetStream    = 4
	patienceStream = 5

	serviceStreams   = 600
	serviceSessions  = 64
	serviceMetadata  = 1000
	serviceShrink    = 5 * time.Millisecond
	serviceCap       = 128 << 20
	defaultWindow    = 64
	serviceResetCode = 7
	trailer          = "that is all"
	// mostTold is the most milliseconds that a server may receive for 5 s (docs/abi.md, section
	// 4.4).
	mostTold = 5100
)

// sessionOptions holds the options of both sides.
var sessionOptions = []breezeway.Option{
	breezeway.WithCap(serviceCap), breezeway.WithMaxMetadata(serviceMetadata),
	breezeway.WithShrinkAfter(serviceShrink),
}

type service struct {
	server  *breezeway.Server
	name    uint64
	held    atomic.Uint64
	givenUp atomic.Uint64
	gate    chan struct{}
	opened  sync.Once
	left    chan error
}

func word(value uint64) []byte { return binary.LittleEndian.AppendUint64(nil, value) }

func firstWord(bytes []byte) uint64 {
	if len(bytes) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(bytes)
}

func milliseconds(deadline time.Time, has bool) []byte {
	if !has {
		return word(0)
	}
	return word(uint64(max(time.Until(deadline).Milliseconds(), 0)))
}

func (s *service) handle(ctx context.Context, call *breezeway.Call) error {
	switch call.Method() {
	case echo:
		if metadata, has := call.Request().Metadata(); has {
			return call.ReplyWithMetadata(metadata, call.Request().Bytes())
		}
		return call.Echo()
	case who:
		return call.Reply(word(s.name))
	case held:
		return call.Reply(word(s.held.Load()))
	case hold:
		s.held.Add(1)
		<-ctx.Done()
		s.givenUp.Add(1)
		return &breezeway.CallError{Code: breezeway.CodeCancelled, Reason: "nobody waits"}
	case givenUp:
		return call.Reply(word(s.givenUp.Load()))
	case patience:
		return call.Reply(milliseconds(call.Deadline()))
	case openGate:
		s.opened.Do(func() { close(s.gate) })
		return call.Reply(nil)
	case leave:
		if err := call.Reply(nil); err != nil {
			return err
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			s.left <- s.server.Shutdown(ctx)
		}()
		return nil
	}
	return &breezeway.CallError{Code: breezeway.CodeNoSuchMethod}
}

// stream serves one stream. It ignores a client that is gone or has reset the stream.
func (s *service) stream(_ context.Context, t *breezeway.Stream) {
	ctx := context.Background()
	switch t.Method() {
	case bounceStream:
		bounce(ctx, t)
	case slowStream:
		<-s.gate
		fallthrough
	case collectStream:
		var count, sum uint64
		for {
			m, err := t.Recv(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				return
			}
			count++
			sum += byteSum(m.Bytes())
			m.Release()
		}
		if t.Send(ctx, append(word(count), word(sum)...)) == nil {
			_ = t.CloseSend()
		}
	case expandStream:
		m, err := t.Recv(ctx)
		if err != nil {
			return
		}
		for number := range int(firstWord(m.Bytes())) {
			if t.Send(ctx, pattern(number*37%5000, byte(number))) != nil {
				return
			}
		}
		_ = t.CloseSendWith([]byte(trailer))
	case resetStream:
		_, _ = t.Recv(ctx)
		t.Reset(breezeway.ApplicationCode(serviceResetCode))
	case patienceStream:
		if t.Send(ctx, milliseconds(t.Deadline())) == nil {
			_ = t.CloseSend()
		}
	}
}

func byteSum(bytes []byte) (sum uint64) {
	for _, b := range bytes {
		sum += uint64(b)
	}
	return sum
}

// A peer serves the cases.
type peer struct {
	address string
	// pid is the serving process. ended returns its outcome after it was asked to leave.
	pid   int
	ended func() error
}

// clientOptions returns a client's options.
func clientOptions() []breezeway.DialOption { return all[breezeway.DialOption](sessionOptions) }

// options returns a server's options.
func (s *service) options() []breezeway.ServerOption {
	return append(all[breezeway.ServerOption](sessionOptions), quiet,
		breezeway.WithStreamHandler(s.stream),
		breezeway.WithMaxStreams(serviceStreams), breezeway.WithMaxSessions(serviceSessions),
		breezeway.WithOffload(1024), breezeway.WithReplyTimeout(100*time.Millisecond))
}

func newService() *service {
	return &service{name: rand.Uint64(), gate: make(chan struct{}), left: make(chan error, 1)}
}

// inGo serves in this process.
func inGo(t testing.TB, carrier string) peer {
	return servedInGo(t, addressOf(t, carrier))
}

func servedInGo(t testing.TB, address string, more ...breezeway.ServerOption) peer {
	s := newService()
	var err error
	s.server, err = breezeway.Listen(address, s.handle,
		append(s.options(), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.server.Serve() }()
	ended := sync.OnceValue(func() error {
		s.opened.Do(func() { close(s.gate) })
		select {
		case err := <-served:
			return err
		case <-time.After(20 * time.Second):
			return errors.New("the server does not end")
		}
	})
	t.Cleanup(func() {
		_ = s.server.Close()
		if err := ended(); !errors.Is(err, breezeway.ErrServerClosed) {
			t.Error(err)
		}
	})
	return peer{s.server.Addresses()[0].String(), os.Getpid(), func() error {
		select {
		case err := <-s.left:
			return err
		case err := <-served: // A successor has taken over.
			served <- err
			if errors.Is(err, breezeway.ErrServerClosed) {
				err = nil
			}
			return err
		}
	}}
}

// interop returns the command of testing/interop, whose path is in BREEZEWAY_INTEROP.
func interop(t testing.TB, arguments ...string) *exec.Cmd {
	path := os.Getenv("BREEZEWAY_INTEROP")
	if path == "" {
		t.Skip("SKIPPED: BREEZEWAY_INTEROP does not name the command interop")
	}
	return exec.Command(path, arguments...)
}

// begin starts a command, and returns its first line.
func begin(t testing.TB, command *exec.Cmd) string {
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	return beginWith(t, command, input)
}

func beginWith(t testing.TB, command *exec.Cmd, input io.Closer) string {
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = input.Close(); _ = command.Process.Kill(); _ = command.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func inRust(t testing.TB, carrier string) peer {
	return servedBy(t, interop(t, "serve", addressOf(t, carrier)))
}

// servedBy serves in a process of its own, which prints its address.
func servedBy(t testing.TB, command *exec.Cmd) peer {
	line := begin(t, command)
	return peer{strings.TrimPrefix(line, "listening on "), command.Process.Pid, command.Wait}
}

var peers = map[string]func(t testing.TB, carrier string) peer{"go": inGo, "rust": inRust}

// cases holds the cases of a client in Go, under the names of the client in Rust.
var cases = []struct {
	name string
	run  func(t *testing.T, ctx context.Context, conn *breezeway.Session)
}{
	{"sizes", sizes}, {"streams", streams}, {"crowd", crowd}, {"cancellation", cancellation},
	{"deadlines", deadlines}, {"back-pressure", backPressure}, {"limits", limits},
	{"memory", memory}, {"growth", growth},
	{"drain", drain}, // This ends the server.
}

func TestEveryCaseHoldsBetweenTheLanguages(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the cases take too long for -short")
	}
	for server, begin := range peers {
		for _, carrier := range carriers {
			t.Run("to "+server+" over "+carrier, func(t *testing.T) {
				for _, client := range []string{"go", "rust"} {
					t.Run("from "+client, func(t *testing.T) {
						if client == "rust" {
							interop(t) // Without it the server would not be ended.
						}
						peer := begin(t, carrier)
						for _, c := range cases {
							if c.name == "growth" && carrier != "shm" {
								continue // Sockets have no segments.
							}
							t.Run(c.name, func(t *testing.T) {
								if client == "rust" {
									fromRust(t, peer, c.name)
									return
								}
								ctx := within(t, time.Minute)
								conn := dialOnceTaken(t, ctx, peer.address)
								c.run(t, ctx, conn)
								_ = conn.Close()
							})
						}
						if t.Failed() || t.Skipped() {
							return
						}
						if err := peer.ended(); err != nil {
							t.Errorf("a server that was left ended with %v", err)
						}
					})
				}
			})
		}
	}
}

func fromRust(t *testing.T, peer peer, name string) {
	command := interop(t, "call", peer.address, name)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

func callFor(t *testing.T, ctx context.Context, conn *breezeway.Session, method uint32,
	request []byte) []byte {
	t.Helper()
	reply, err := conn.Call(ctx, method, request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Release()
	return reply.Bytes()
}

func echoed(ctx context.Context, conn *breezeway.Session, request []byte) error {
	reply, err := conn.Call(ctx, echo, request)
	if err != nil {
		return err
	}
	defer reply.Release()
	if !bytes.Equal(reply.Bytes(), request) {
		return fmt.Errorf("%d bytes came back otherwise", len(request))
	}
	return nil
}

func sizes(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	sizes := []int{0, 1, 7, 39, 40, 41, 103, 104, 105, 4096, 65_537, 1 << 20, 5 << 20,
		64 << 20}
	for number, size := range sizes {
		if err := echoed(ctx, conn, pattern(size, byte(number))); err != nil {
			t.Fatal(err)
		}
	}
	request := pattern(500, 3)
	reply, err := conn.CallWithMetadata(ctx, echo, []byte("about it"), request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Release()
	if metadata, _ := reply.Metadata(); string(metadata) != "about it" ||
		!bytes.Equal(reply.Bytes(), request) {
		t.Fatalf("%q came back", metadata)
	}
}

func streams(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	if err := bounced(ctx, conn, 300); err != nil {
		t.Fatal(err)
	}
	collected(t, ctx, conn)
	expanded(t, ctx, conn)
	stream := opened(t, ctx, conn, resetStream)
	if err := stream.Send(ctx, []byte("reset me")); err != nil {
		t.Fatal(err)
	}
	_, err := stream.Recv(ctx)
	if code, is := breezeway.IsReset(err); !is ||
		code != breezeway.ApplicationCode(serviceResetCode) {
		t.Fatalf("a reset came as %v", err)
	}
	_ = opened(t, ctx, conn, bounceStream).Close() // This resets it.
	if err := bounced(ctx, conn, 3); err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, ctx context.Context, conn *breezeway.Session,
	method uint32) *breezeway.Stream {
	t.Helper()
	stream, err := conn.Open(ctx, method)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// bounced sends messages while it receives their echoes.
func bounced(ctx context.Context, conn *breezeway.Session, count int) error {
	stream, err := conn.Open(ctx, bounceStream)
	if err != nil {
		return err
	}
	defer stream.Close()
	sent := make(chan error, 1)
	go func() {
		for number := range count {
			if err := stream.Send(ctx, pattern(number*97%9000, byte(number))); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.CloseSend()
	}()
	for number := range count {
		m, err := stream.Recv(ctx)
		if err != nil {
			return err
		}
		if !bytes.Equal(m.Bytes(), pattern(number*97%9000, byte(number))) {
			return fmt.Errorf("message %d came back otherwise", number)
		}
		m.Release()
	}
	if _, err := stream.Recv(ctx); err != io.EOF {
		return fmt.Errorf("behind the last message came %v", err)
	}
	return <-sent
}

func sendPatterns(t *testing.T, ctx context.Context, stream *breezeway.Stream, from, to int) {
	t.Helper()
	for number := from; number < to; number++ {
		if err := stream.Send(ctx, pattern(200, byte(number))); err != nil {
			t.Fatal(err)
		}
	}
}

// collects checks the result of a collecting stream after count patterns.
func collects(t *testing.T, ctx context.Context, stream *breezeway.Stream, count int) {
	t.Helper()
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	m, err := stream.Recv(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	var sum uint64
	for number := range count {
		sum += byteSum(pattern(200, byte(number)))
	}
	if !bytes.Equal(m.Bytes(), append(word(uint64(count)), word(sum)...)) {
		t.Fatalf("the server has collected %x", m.Bytes())
	}
	if _, err := stream.Recv(ctx); err != io.EOF {
		t.Fatalf("behind the last message came %v", err)
	}
}

func collected(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	stream, err := conn.OpenWithMetadata(ctx, collectStream, []byte("begin"))
	if err != nil {
		t.Fatal(err)
	}
	sendPatterns(t, ctx, stream, 0, 100)
	collects(t, ctx, stream, 100)
}

func expanded(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	const count = 250
	stream := opened(t, ctx, conn, expandStream)
	if err := errors.Join(stream.Send(ctx, word(count)), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	for number := range count {
		m, err := stream.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m.Bytes(), pattern(number*37%5000, byte(number))) {
			t.Fatalf("message %d", number)
		}
		m.Release()
	}
	if _, err := stream.Recv(ctx); err != io.EOF || string(stream.Trailer()) != trailer {
		t.Fatalf("%v, %q", err, stream.Trailer())
	}
}

// crowd runs five hundred goroutines that call, and as many streams, on one session.
func crowd(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	var all sync.WaitGroup
	for g := range 500 {
		all.Add(1)
		go func() {
			defer all.Done()
			for round := range 10 {
				if err := echoed(ctx, conn, pattern(8+g*round%3000, byte(g))); err != nil {
					t.Errorf("goroutine %d: %v", g, err)
					return
				}
			}
			if err := bounced(ctx, conn, 3); err != nil {
				t.Errorf("the stream of goroutine %d: %v", g, err)
			}
		}()
	}
	all.Wait()
}

func untilGivenUp(t *testing.T, ctx context.Context, conn *breezeway.Session, count uint64) {
	t.Helper()
	for firstWord(callFor(t, ctx, conn, givenUp, nil)) < count {
		time.Sleep(time.Millisecond)
	}
}

func cancellation(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	before := firstWord(callFor(t, ctx, conn, givenUp, nil))
	inTime, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	begun := firstWord(callFor(t, ctx, conn, held, nil))
	for _, size := range []int{5, 5000} {
		go func() {
			_, err := conn.Call(inTime, hold, make([]byte, size))
			ended <- err
		}()
	}
	for firstWord(callFor(t, ctx, conn, held, nil)) < begun+2 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	for range cap(ended) {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled call ended with %v", err)
		}
	}
	untilGivenUp(t, ctx, conn, before+2)
}

func deadlines(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	before := firstWord(callFor(t, ctx, conn, givenUp, nil))
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	// The server also knows the deadline, and may give up first.
	var failure *breezeway.CallError
	if _, err := conn.Call(short, hold, nil); !errors.Is(err, context.DeadlineExceeded) &&
		(!errors.As(err, &failure) || failure.Code != breezeway.CodeCancelled) {
		t.Fatalf("a call past its deadline ended with %v", err)
	}
	untilGivenUp(t, ctx, conn, before+1)
	if told := firstWord(callFor(t, context.Background(), conn, patience, nil)); told != 0 {
		t.Errorf("the server was told of %d ms, and nothing was said", told)
	}
	five, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if told := firstWord(callFor(t, five, conn, patience, nil)); told < 1 || told > mostTold {
		t.Errorf("of 5000 ms, the server was told %d", told)
	}
	m, err := opened(t, five, conn, patienceStream).Recv(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if told := firstWord(m.Bytes()); told < 1 || told > mostTold {
		t.Errorf("of 5000 ms for a stream, the server was told %d", told)
	}
}

// backPressure checks that an unread stream stops at its window without stopping anything else.
func backPressure(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	stream := opened(t, ctx, conn, slowStream)
	sendPatterns(t, ctx, stream, 0, defaultWindow)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := stream.Send(short, []byte("more")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a message past the window: %v", err)
	}
	if err := bounced(ctx, conn, 300); err != nil {
		t.Fatal(err)
	}
	callFor(t, ctx, conn, openGate, nil)
	sendPatterns(t, ctx, stream, defaultWindow, 4*defaultWindow)
	collects(t, ctx, stream, 4*defaultWindow)
}

func limits(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	_, err := conn.Call(ctx, echo, make([]byte, serviceCap+1))
	if !errors.As(err, new(*breezeway.TooLargeError)) {
		t.Errorf("a message past the cap: %v", err)
	}
	_, err = conn.CallWithMetadata(ctx, echo, make([]byte, serviceMetadata+1), nil)
	if !errors.As(err, new(*breezeway.TooMuchMetadataError)) {
		t.Errorf("too much metadata: %v", err)
	}
	var failure *breezeway.CallError
	if _, err := conn.Call(ctx, 99, nil); !errors.As(err, &failure) ||
		failure.Code != breezeway.CodeNoSuchMethod {
		t.Errorf("no such method: %v", err)
	}
	var open []*breezeway.Stream
	for range serviceStreams {
		open = append(open, opened(t, ctx, conn, bounceStream))
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := conn.Open(short, bounceStream); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stream too many: %v", err)
	}
	for _, stream := range open {
		_ = stream.Close()
	}
	_ = opened(t, ctx, conn, bounceStream).Close()
	address := conn.Address().String()
	var sessions []*breezeway.Session
	var refused *breezeway.RefusedError
	for len(sessions) < serviceSessions {
		session, err := breezeway.Dial(ctx, address, clientOptions()...)
		if err != nil {
			if !errors.As(err, &refused) {
				t.Fatalf("one session too many: %v", err)
			}
			break
		}
		sessions = append(sessions, session)
	}
	if len(sessions) != serviceSessions-1 {
		t.Errorf("%d sessions beside the first one", len(sessions))
	}
	for _, session := range sessions {
		_ = session.Close()
	}
	_ = dialOnceTaken(t, ctx, address).Close()
}

// dialOnceTaken dials until a server with too many sessions has noticed that some have ended.
func dialOnceTaken(t *testing.T, ctx context.Context, address string) *breezeway.Session {
	for {
		conn, err := breezeway.Dial(ctx, address, clientOptions()...)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			return conn
		}
		if !errors.As(err, new(*breezeway.RefusedError)) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// memory checks that a client that keeps lent memory gets an error, and succeeds after it releases
// the memory.
func memory(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	request := pattern(18<<20, 1)
	var kept []breezeway.Message
	for conn.Carrier() == breezeway.Shm { // A socket lends nothing.
		short, cancel := context.WithTimeout(ctx, time.Second)
		reply, err := conn.Call(short, echo, request)
		cancel()
		if err != nil {
			// A server may wait for memory as long as its client does.
			var failure *breezeway.CallError
			if !errors.Is(err, context.DeadlineExceeded) &&
				(!errors.As(err, &failure) || failure.Code != breezeway.CodeNoMemory) {
				t.Fatal(err)
			}
			break
		}
		if kept = append(kept, reply); len(kept) == 8 {
			t.Fatal("more than the cap is lent")
		}
	}
	for i := range kept {
		kept[i].Release()
	}
	if err := echoed(ctx, conn, request); err != nil {
		t.Fatal(err)
	}
}

// growth checks that segments grow with the messages, and are freed once traffic does not need
// them.
func growth(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	for size := 1000; size < 40<<20; size *= 3 {
		if err := echoed(ctx, conn, pattern(size, byte(size))); err != nil {
			t.Fatal(err)
		}
	}
	if grown := conn.Counters().PayloadSegmentBytes; grown < 16<<20 {
		t.Fatalf("segments of %d bytes", grown)
	}
	for conn.Counters().PayloadSegmentBytes > 1<<20 {
		if err := echoed(ctx, conn, pattern(1000, 2)); err != nil {
			t.Fatal(err)
		}
	}
}

// drain checks that a server that leaves continues open calls and streams, and accepts no new ones.
func drain(t *testing.T, ctx context.Context, conn *breezeway.Session) {
	stream := opened(t, ctx, conn, bounceStream)
	callFor(t, ctx, conn, leave, nil)
	for {
		if err := stream.Send(ctx, []byte("still open")); err != nil {
			t.Fatal(err)
		}
		m, err := stream.Recv(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if string(m.Bytes()) != "still open" {
			t.Fatalf("%q came back", m.Bytes())
		}
		m.Release()
		if err := echoed(ctx, conn, nil); errors.Is(err, breezeway.ErrGoingAway) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(ctx); err != io.EOF {
		t.Fatalf("behind the last message came %v", err)
	}
}
