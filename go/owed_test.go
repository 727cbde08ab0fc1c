package breezeway

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// fill fills the ring. The session's lock is held.
func (s *session) fill() {
	for s.transmit(crossedReset, &outgoing{}) == nil {
	}
	s.flush()
}

func TestAGoAwayThatFindsNoRoomIsSaidOnceThereIsSome(t *testing.T) {
	server, address := quietServer(t, "shm:"+filepath.Join(t.TempDir(), "s"), (*Call).Echo)
	conn, err := Dial(contextOf(t), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	session := sessionOf(t, server)
	conn.session.mu.Lock() // It takes nothing in between.
	session.mu.Lock()
	session.fill()
	session.mu.Unlock()
	session.goAway()
	conn.session.mu.Unlock()
	for end := time.Now().Add(10 * time.Second); !errors.Is(err, ErrGoingAway); {
		_, err = conn.Call(contextOf(t), 0, nil)
		if err != nil && !errors.Is(err, ErrGoingAway) || time.Now().After(end) {
			t.Fatalf("a call to a server that goes away: %v", err)
		}
	}
}

// The client's session has no waiters.
func TestAResetThatFindsNoRoomIsSentOnceThereIsSome(t *testing.T) {
	for name, end := range map[string]func(*Stream){
		"reset": func(stream *Stream) { stream.Reset(CodeOverloaded) },
		"close": func(stream *Stream) { _ = stream.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			come, received := make(chan *Stream, 1), make(chan error, 1)
			conn := serveStreams(t, "shm", func(stream *Stream) {
				come <- stream
				_, err := stream.Recv(contextOf(t))
				received <- err
			})
			stream, err := conn.Open(contextOf(t), 0)
			if err != nil {
				t.Fatal(err)
			}
			serving := soon(t, "the stream", come).session
			serving.mu.Lock() // It takes nothing in between.
			conn.session.mu.Lock()
			conn.session.fill()
			conn.session.mu.Unlock()
			end(stream)
			serving.mu.Unlock()
			if err := soon(t, "the reset", received); !errors.As(err, new(*ResetError)) {
				t.Errorf("the other side received %v", err)
			}
		})
	}
}

// The client's session has no waiters here either.
func TestAnAnswerToAResetThatFindsNoRoomIsSentOnceThereIsSome(t *testing.T) {
	come := make(chan *Stream, 1)
	conn := serveStreams(t, "shm", func(stream *Stream) {
		come <- stream
		<-stream.session.done
	})
	if _, err := conn.Open(contextOf(t), 0); err != nil {
		t.Fatal(err)
	}
	stream := soon(t, "the stream", come)
	serving := stream.session
	serving.mu.Lock() // It takes nothing in between.
	serving.rules.Streams.Reset(stream.state, 0)
	if _, err := serving.sendOwed(); err != nil {
		t.Error(err)
	}
	conn.session.mu.Lock()
	conn.session.fill()
	conn.session.mu.Unlock()
	conn.session.catchUp()
	serving.mu.Unlock()
	until(t, serving, "the stream's end", func() bool { return serving.openStreams == 0 })
}
