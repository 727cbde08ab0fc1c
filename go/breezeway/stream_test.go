package breezeway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// bounce echoes messages, and ends its direction after the peer's.
func bounce(_ context.Context, stream *breezeway.Stream) {
	for {
		m, err := stream.Recv(context.Background())
		if errors.Is(err, io.EOF) {
			_ = stream.CloseSendWith(stream.Trailer())
			return
		}
		if err != nil {
			return
		}
		err = stream.SendMessage(context.Background(), &m)
		m.Release()
		if err != nil {
			return
		}
	}
}

func onEveryCarrier(t *testing.T, test func(t *testing.T, carrier string)) {
	for _, carrier := range carriers {
		t.Run(carrier, func(t *testing.T) { test(t, carrier) })
	}
}

func TestMessagesOfAStreamComeBackInOrderAndThenTheEnd(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn := dial(t, goServer(t, carrier, echoes, bounce))
		ctx := within(t, time.Minute)
		stream, err := conn.OpenWithMetadata(ctx, 7, []byte("who I am"))
		if err != nil {
			t.Fatal(err)
		}
		const count = 500
		go func() {
			for i := 0; i < count; i++ {
				if err := stream.Send(ctx, pattern(i*17%9000, byte(i))); err != nil {
					t.Errorf("message %d: %v", i, err)
					return
				}
			}
			if err := stream.CloseSendWith([]byte("goodbye")); err != nil {
				t.Error(err)
			}
		}()
		for i := 0; i < count; i++ {
			m, err := stream.Recv(ctx)
			if err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
			if !bytes.Equal(m.Bytes(), pattern(i*17%9000, byte(i))) {
				t.Fatalf("message %d came back otherwise", i)
			}
			m.Release()
		}
		if _, err := stream.Recv(ctx); !errors.Is(err, io.EOF) {
			t.Fatalf("behind the last message: %v", err)
		}
		if string(stream.Trailer()) != "goodbye" {
			t.Fatalf("trailer %q", stream.Trailer())
		}
	})
}

func TestASlowReaderHoldsUpItsStreamAndNoOther(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		unread := func(ctx context.Context, stream *breezeway.Stream) {
			if stream.Method() == 1 {
				bounce(ctx, stream)
				return
			}
			for {
				if err := stream.Send(context.Background(), make([]byte, 1000)); err != nil {
					return
				}
			}
		}
		conn := dial(t, goServer(t, carrier, echoes, unread), breezeway.WithStreamWindow(8, 1<<16))
		ctx := within(t, time.Minute)
		slow, err := conn.Open(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		other, err := conn.Open(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 100; i++ {
			if err := other.Send(ctx, []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
			if m, err := other.Recv(ctx); err != nil || m.Bytes()[0] != byte(i) {
				t.Fatal(err)
			}
			if _, err := conn.Call(ctx, echo, []byte("call")); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; i < 50; i++ {
			m, err := slow.Recv(ctx)
			if err != nil || m.Len() != 1000 {
				t.Fatalf("message %d of the slow stream: %v", i, err)
			}
			m.Release()
		}
	})
}

func TestAResetReachesTheOtherSide(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		codes := make(chan error, 1)
		conn := dial(t, goServer(t, carrier, echoes, func(_ context.Context,
			stream *breezeway.Stream) {
			_, err := stream.Recv(context.Background())
			codes <- err
		}))
		ctx := within(t, time.Minute)
		stream, err := conn.Open(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		stream.Reset(breezeway.ApplicationCode(5))
		select {
		case err = <-codes:
		case <-ctx.Done():
			t.Fatal("the server does not learn it")
		}
		if code, is := breezeway.IsReset(err); !is || code != breezeway.ApplicationCode(5) {
			t.Fatalf("the server got %v", err)
		}
		if _, err := stream.Recv(ctx); err == nil {
			t.Fatal("a message on a stream that was reset")
		}
		if _, err := conn.Call(ctx, echo, nil); err != nil {
			t.Fatalf("the session goes on: %v", err)
		}
	})
}

func TestAResetBehindTheLastMessageTakesNothingBack(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		outcome := make(chan error, 1)
		conn := dial(t, goServer(t, carrier, echoes, func(_ context.Context,
			stream *breezeway.Stream) {
			outcome <- receiveAllOnceRefused(within(t, time.Minute), stream)
		}))
		ctx := within(t, time.Minute)
		stream, err := conn.Open(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 3; i++ {
			if err := stream.Send(ctx, []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		stream.Reset(breezeway.ApplicationCode(5))
		if err := <-outcome; err != nil {
			t.Fatal(err)
		}
	})
}

// receiveAllOnceRefused sends until the peer's reset has arrived, and then receives three messages
// and the end.
func receiveAllOnceRefused(ctx context.Context, stream *breezeway.Stream) error {
	var err error
	for err == nil {
		err = stream.Send(ctx, []byte("not wanted"))
	}
	if code, is := breezeway.IsReset(err); !is || code != breezeway.ApplicationCode(5) {
		return err
	}
	for i := 0; i < 3; i++ {
		m, err := stream.Recv(ctx)
		if err != nil || m.Bytes()[0] != byte(i) {
			return fmt.Errorf("message %d: %w", i, err)
		}
		m.Release()
	}
	if _, err := stream.Recv(ctx); err != io.EOF {
		return fmt.Errorf("behind the last: %w", err)
	}
	return nil
}

func TestReceivingEndsWithItsContextAndTheStreamGoesOn(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn := dial(t, goServer(t, carrier, echoes, bounce))
		ctx := within(t, time.Minute)
		stream, err := conn.Open(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		if _, err := stream.Recv(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a deadline that passed: %v", err)
		}
		cancelled, cancel := context.WithCancel(ctx)
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := stream.Recv(cancelled); !errors.Is(err, context.Canceled) {
			t.Fatalf("a context that was cancelled: %v", err)
		}
		if err := stream.Send(ctx, []byte("still here")); err != nil {
			t.Fatal(err)
		}
		if m, err := stream.Recv(ctx); err != nil || string(m.Bytes()) != "still here" {
			t.Fatalf("afterwards: %v", err)
		}
	})
}

func TestAServerWithoutAStreamHandlerTakesNone(t *testing.T) {
	conn := dial(t, goServer(t, "shm", echoes, nil))
	if _, err := conn.Open(within(t, time.Minute), 0); err == nil {
		t.Fatal("a stream was opened")
	}
}

func TestFiveHundredStreamsAtATime(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		conn := dial(t, goServer(t, carrier, echoes, bounce))
		ctx := within(t, time.Minute)
		var all sync.WaitGroup
		for g := 0; g < 500; g++ {
			all.Add(1)
			go func() {
				defer all.Done()
				stream, err := conn.Open(ctx, 0)
				if err != nil {
					t.Error(err)
					return
				}
				defer stream.Close()
				for i := 0; i < 10; i++ {
					sent := pattern(100+g, byte(i))
					if err := stream.Send(ctx, sent); err != nil {
						t.Error(err)
						return
					}
					m, err := stream.Recv(ctx)
					if err != nil || !bytes.Equal(m.Bytes(), sent) {
						t.Errorf("stream %d: %v", g, err)
						return
					}
					m.Release()
				}
			}()
		}
		all.Wait()
	})
}

func TestUnservedOneWayMessagesStopNoStreamOrCall(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, carrier string) {
		proceed, counted := make(chan struct{}), make(chan struct{}, 5000)
		release := sync.OnceFunc(func() { close(proceed) })
		conn := dial(t, goServer(t, carrier, func(_ context.Context, call *breezeway.Call) error {
			if call.IsOneWay() {
				<-proceed
				counted <- struct{}{}
				return nil
			}
			return call.Echo()
		}, bounce))
		t.Cleanup(release)
		ctx := within(t, time.Minute)
		stream, err := conn.Open(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		posted := make(chan error, 1)
		go func() {
			var err error
			for i := 0; i < 3000 && err == nil; i++ {
				err = conn.Post(ctx, 1, []byte("nobody cares"))
			}
			posted <- err
		}()
		for i := 0; i < 200; i++ {
			if err := stream.Send(ctx, []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
			if m, err := stream.Recv(ctx); err != nil || m.Bytes()[0] != byte(i) {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		release()
		if err := <-posted; err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 3000; i++ {
			select {
			case <-counted:
			case <-ctx.Done():
				t.Fatalf("%d messages came", i)
			}
		}
	})
}
