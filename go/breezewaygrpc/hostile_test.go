package breezewaygrpc_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/breezewaygrpc"
)

// raw is a session that sends what it likes as calls.
func raw(t *testing.T, address string) *breezeway.Session {
	t.Helper()
	conn, err := breezeway.Dial(within(t), address, breezeway.WithService(2),
		breezeway.WithMaxMetadata(65535))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// requestBlock is the block of a call of EmptyCall, with fields behind it.
func requestBlock(fields string) []byte {
	path := "/grpc.testing.TestService/EmptyCall"
	return []byte("\x03" + string([]byte{byte(len(path)), 0}) + path + fields)
}

// onRaw runs a test with a session, which must stay, and then calls the server by a client.
func onRaw(t *testing.T, test func(t *testing.T, conn *breezeway.Session)) {
	for _, carrier := range []string{"shm:", "unix:"} {
		t.Run(carrier, func(t *testing.T) {
			address, _, _ := startNative(t, carrier+t.TempDir()+"/s", breezewaygrpc.Config{})
			conn := raw(t, address)
			test(t, conn)
			if err := conn.Err(); err != nil {
				t.Errorf("the session has ended: %v", err)
			}
			callEveryForm(t, dialNative(t, address))
		})
	}
}

// outcome returns what a stream ends with: the last block, or the code of a reset.
func outcome(t *testing.T, stream *breezeway.Stream) (last string, reset breezeway.Code) {
	t.Helper()
	for {
		m, err := stream.Recv(within(t))
		if code, is := breezeway.IsReset(err); is {
			return "", code
		}
		if errors.Is(err, io.EOF) {
			return string(stream.Trailer()), 0
		}
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	}
}

func TestRequestBlocksThatCannotBeReadResetTheCall(t *testing.T) {
	onRaw(t, func(t *testing.T, conn *breezeway.Session) {
		for name, block := range map[string][]byte{"none": nil, "empty": {},
			"flags": {8, 1, 0, '/'}, "no path": {3, 0, 0}, "short path": {3, 9, 0, '/'},
			"another path": {3, 1, 0, 'a'},
			"field":        requestBlock("\x01"), "value": requestBlock("\x01\x00\x01\x00a\n"),
			"name": requestBlock("\x01\x00\x01\x00 b")} {
			stream, err := conn.OpenEntry(within(t), 1, breezeway.Entry{Metadata: block, Last: true,
				Message: [][]byte{{0, 0, 0, 0, 0}}})
			if err != nil {
				t.Fatal(err)
			}
			if last, code := outcome(t, stream); code != breezeway.CodeFailed {
				t.Errorf("%s: %q, %v", name, last, code)
			}
		}
	})
}

func TestRequestsThatCannotBeReadFailWithStatus(t *testing.T) {
	onRaw(t, func(t *testing.T, conn *breezeway.Session) {
		for name, c := range map[string]struct {
			fields, message, status string
		}{
			"no message":        {"", "", "13"},
			"cut prefix":        {"", "\x00\x00", "13"},
			"cut message":       {"", "\x00\x00\x00\x00\x09abc", "13"},
			"too long":          {"", "\x00\xff\xff\xff\xff", "8"},
			"flag":              {"", "\x02\x00\x00\x00\x00", "13"},
			"compressed":        {"", "\x01\x00\x00\x00\x00", "12"},
			"no protobuf":       {"", "\x00\x00\x00\x00\x01\xff", "13"},
			"unknown encoding":  {"\x0d\x00\x02\x00grpc-encodingxy", "\x00\x00\x00\x00\x00", "12"},
			"no base64":         {"\x05\x00\x01\x00a-bin*", "\x00\x00\x00\x00\x00", "13"},
			"timeout of no use": {"\x0c\x00\x02\x00grpc-timeout9X", "\x00\x00\x00\x00\x00", "0"},
		} {
			entry := breezeway.Entry{Metadata: requestBlock(c.fields), Last: true}
			if c.message != "" {
				entry.Message = [][]byte{[]byte(c.message)}
			}
			stream, err := conn.OpenEntry(within(t), 1, entry)
			if err != nil {
				t.Fatal(err)
			}
			last, code := outcome(t, stream)
			status := "\x0b\x00" + string([]byte{byte(len(c.status)), 0}) + "grpc-status" + c.status
			if at := len("\x05\xc8\x00\x00\x00"); len(last) < at || code != 0 ||
				len(last[at:]) < len(status) || last[at:][:len(status)] != status {
				t.Errorf("%s: %q, %v", name, last, code)
			}
		}
	})
}

func TestCallsAndOtherMethodsAreRefused(t *testing.T) {
	onRaw(t, func(t *testing.T, conn *breezeway.Session) {
		stream, err := conn.Open(within(t), 2)
		if err != nil {
			t.Fatal(err)
		}
		if last, code := outcome(t, stream); code != breezeway.CodeNoSuchMethod {
			t.Errorf("%q, %v", last, code)
		}
		_, err = conn.Call(within(t), 1, nil)
		var failed *breezeway.CallError
		if !errors.As(err, &failed) || failed.Code != breezeway.CodeRefused {
			t.Error(err)
		}
	})
}

// TestMessagesInPiecesAreRead sends two messages one byte at a time, and two in one.
func TestMessagesInPiecesAreRead(t *testing.T) {
	onRaw(t, func(t *testing.T, conn *breezeway.Session) {
		path := "/grpc.testing.TestService/StreamingInputCall"
		block := []byte("\x03" + string([]byte{byte(len(path)), 0}) + path)
		message := "\x00\x00\x00\x00\x05\x0a\x03\x12\x01a" // A payload of one byte.
		stream, err := conn.OpenEntry(within(t), 1, breezeway.Entry{Metadata: block})
		for _, b := range []byte(message + message) {
			if err == nil {
				err = stream.Send(within(t), []byte{b})
			}
			if err == nil {
				err = stream.Send(within(t), nil) // It has no meaning.
			}
		}
		if err == nil {
			err = stream.SendEntry(within(t), breezeway.Entry{Last: true,
				Message: [][]byte{[]byte(message + message)}})
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := stream.Recv(within(t))
		if reply := string(m.Bytes()); err != nil || reply != "\x00\x00\x00\x00\x02\x08\x04" {
			t.Errorf("%q, %v", reply, err)
		}
	})
}

// hostileServer replies to calls by what it likes.
func hostileServer(t *testing.T, carrier string, serve breezeway.StreamHandler,
	opts ...breezeway.ServerOption) string {
	t.Helper()
	address := carrier + t.TempDir() + "/s"
	server, err := breezeway.Listen(address, nil, append(opts, breezeway.WithService(2),
		breezeway.WithMaxMetadata(65535), breezeway.WithStreamHandler(serve))...)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	t.Cleanup(func() { _ = server.Close() })
	return address
}

const (
	wholeOK     = "\x05\xc8\x00\x00\x00\x0b\x00\x01\x00grpc-status0"
	headersOnly = "\x01\xc8\x00"
	trailersOK  = "\x0b\x00\x01\x00grpc-status0"
)

func message(bytes string) [][]byte { return [][]byte{[]byte(bytes)} }

func first(block string, message [][]byte) breezeway.Entry {
	return breezeway.Entry{Metadata: []byte(block), Message: message}
}

func last(block string, message [][]byte) breezeway.Entry {
	return breezeway.Entry{Metadata: []byte(block), Message: message, Last: true}
}

// longStatus is a response without trailers, with a status of two digits.
func longStatus(code string) string { return headersOnly + "\x0b\x00\x02\x00grpc-status" + code }

func TestResponsesThatCannotBeReadFailTheirCall(t *testing.T) {
	empty, end := message("\x00\x00\x00\x00\x00"), breezeway.Entry{Last: true}
	type entries = []breezeway.Entry
	const status, started = "\x01\xc8\x00\x0b\x00\x01\x00grpc-status", headersOnly
	const details = "\x17\x00\x01\x00grpc-status-details-bin*"
	for name, c := range map[string]struct {
		entries entries
		code    codes.Code
	}{
		"all is well": {entries{last(wholeOK, empty)}, codes.OK},
		"well in parts": {entries{first(started, nil), {Message: empty}, last(trailersOK, nil)},
			codes.OK},
		"no block":            {entries{{Message: empty, Last: true}}, codes.Internal},
		"empty block":         {entries{last("", empty)}, codes.Internal},
		"flags":               {entries{last("\x08\xc8\x00", empty)}, codes.Internal},
		"no HTTP status":      {entries{last("\x01\x01\x00", empty)}, codes.Internal},
		"cut headers":         {entries{last("\x05\xc8\x00\x09\x00", empty)}, codes.Internal},
		"cut trailers":        {entries{last(wholeOK[:len(wholeOK)-1], empty)}, codes.Internal},
		"no status":           {entries{last(started, empty)}, codes.Internal},
		"no status in parts":  {entries{first(started, empty), end}, codes.Internal},
		"HTTP's 503":          {entries{last("\x01\xf7\x01", nil)}, codes.Unavailable},
		"trailers unreadable": {entries{first(started, empty), last("\x01", nil)}, codes.Internal},
		"headers for trailers": {entries{first(started, empty), last(started, nil)},
			codes.Internal},
		"status is no number": {entries{last(status+"x", nil)}, codes.Internal},
		"status unknown":      {entries{last(longStatus("99"), nil)}, codes.Code(99)},
		"status in headers":   {entries{last(status+"5", nil)}, codes.NotFound},
		"details unreadable":  {entries{last(status+"5"+details, nil)}, codes.NotFound},
		"no base64": {entries{last("\x01\xc8\x00\x05\x00\x01\x00a-bin*", empty)},
			codes.Internal},
		"no message":   {entries{last(wholeOK, nil)}, codes.Internal},
		"two messages": {entries{last(wholeOK, [][]byte{empty[0], empty[0]})}, codes.Internal},
		"cut message": {entries{last(wholeOK, message("\x00\x00\x00\x00\x09a"))},
			codes.Internal},
		"too long": {entries{first(started, message("\x00\xff\x00\x00\x00a"))},
			codes.ResourceExhausted},
		"compressed": {entries{last(wholeOK, message("\x01\x00\x00\x00\x00"))},
			codes.Unimplemented},
		"no protobuf": {entries{last(wholeOK, message("\x00\x00\x00\x00\x01\xff"))},
			codes.Internal},
		"given up in a message": {entries{first(started, message("\x00\x00\x00\x00\x09a")),
			last(longStatus("11")[3:], nil)}, codes.OutOfRange},
	} {
		t.Run(name, func(t *testing.T) {
			for _, carrier := range []string{"shm:", "unix:"} {
				address := hostileServer(t, carrier, func(_ context.Context,
					stream *breezeway.Stream) {
					for _, entry := range c.entries {
						_ = stream.SendEntry(context.Background(), entry)
					}
					// The client ends a response without an end.
					_, _ = stream.Recv(context.Background())
					<-stream.Context().Done()
				})
				client := dialNative(t, address)
				for range 2 {
					_, err := client.EmptyCall(within(t), new(testpb.Empty))
					isStatusOrNil(t, err, c.code)
				}
				stream, err := client.StreamingInputCall(within(t))
				if err == nil {
					_, err = stream.CloseAndRecv()
				}
				isStatusOrNil(t, err, c.code)
			}
		})
	}
}

func isStatusOrNil(t *testing.T, err error, code codes.Code) {
	t.Helper()
	if code != codes.OK {
		isStatus(t, err, code, "")
	} else if err != nil {
		t.Error(err)
	}
}

func TestResetsOfServersBecomeStatuses(t *testing.T) {
	for reset, code := range map[breezeway.Code]codes.Code{
		breezeway.CodeFailed:         codes.Internal,
		breezeway.CodePanicked:       codes.Internal,
		breezeway.CodeNoMemory:       codes.ResourceExhausted,
		breezeway.CodeNoSuchMethod:   codes.Unavailable,
		breezeway.CodeCancelled:      codes.Canceled,
		breezeway.CodeDeadlinePassed: codes.DeadlineExceeded,
		breezeway.CodeRefused:        codes.Unavailable,
		breezeway.CodeOverloaded:     codes.ResourceExhausted,
		breezeway.ApplicationCode(1): codes.Internal,
	} {
		address := hostileServer(t, "unix:", func(_ context.Context,
			stream *breezeway.Stream) {
			stream.Reset(reset)
		})
		_, err := dialNative(t, address).EmptyCall(within(t), new(testpb.Empty))
		isStatus(t, err, code, "")
	}
}

func TestServerThatNeverRepliesMeetsTheDeadline(t *testing.T) {
	given := make(chan struct{}, 1)
	address := hostileServer(t, "shm:", func(_ context.Context, stream *breezeway.Stream) {
		<-stream.Context().Done()
		given <- struct{}{}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := dialNative(t, address).EmptyCall(ctx, new(testpb.Empty))
	isStatus(t, err, codes.DeadlineExceeded, "")
	<-given // It is told.
}
