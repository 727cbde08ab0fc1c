package proto

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Methods of the service of the vectors, beside the echo of method 0: docs/vectors/README.md.
const (
	vectorHold  = 9
	vectorReset = 10
	vectorDrop  = 11
	vectorCode  = FirstApplicationCode + 7
)

// A vectorServer is the server of the vectors: the protocol core with bytes in place of a socket.
type vectorServer struct {
	rules   *Session[int, *vectorStream]
	service bool // serves service.txt
	input   []byte
	answers []string // that were not compared
	over    bool
}

// A vectorStream is a stream of the vectors, and the messages that it keeps.
type vectorStream struct {
	stream   *Stream[*vectorStream]
	method   uint32
	messages [][]byte
}

func (v *vectorServer) answer(answer string) { v.answers = append(v.answers, answer) }

func (v *vectorServer) end() {
	v.answer("end")
	v.over = true
}

func (v *vectorServer) send(head Head, body []byte) {
	if head.Kind == KindWindow { // The vectors omit windows.
		return
	}
	if !v.rules.Allows(&head) {
		panic("an entry behind the end")
	}
	v.answer(hex.EncodeToString(append(AppendFrame(nil, head, len(body)), body...)))
}

// feed processes bytes of the client.
func (v *vectorServer) feed(input []byte) {
	v.input = append(v.input, input...)
	for !v.over && v.rules == nil {
		if !v.greet() {
			return
		}
	}
	for !v.over && !v.rules.Ending.HasClosed() && len(v.input) >= FrameLen {
		head, length, err := DecodeFrame(v.input, uint64(v.rules.MaxMessage()))
		if err == nil && len(v.input) < FrameLen+length {
			return
		}
		if err == nil {
			body := v.input[FrameLen:][:length]
			v.input = v.input[FrameLen+length:]
			err = v.entry(&head, bytes.Clone(body))
		}
		if err != nil {
			v.end()
		}
	}
}

// greet processes the client's hello. It returns false if the hello is incomplete.
func (v *vectorServer) greet() bool {
	length, wanted, err := 0, 0, error(nil)
	for err == nil {
		if wanted, err = HelloWanted(v.input[:length]); wanted == 0 || err != nil {
			break
		}
		if length += wanted; length > len(v.input) {
			// Like a receiver that reads in pieces, refuse as soon as possible.
			_, err = HelloWanted(v.input)
			break
		}
	}
	if err == nil && length > len(v.input) {
		return false
	}
	var peer *Hello
	own := &Hello{RingCapacity: 64, LendCount: 512, PayloadCap: 1 << 20}
	if err == nil {
		peer, err = DecodeHello(v.input[:length])
	}
	if err == nil {
		err = peer.CheckMemory(own, "unix")
	}
	if err != nil {
		if status := StatusOf(err); status > 0 {
			v.answer(fmt.Sprint("refusal ", status))
		}
		v.end()
		return false
	}
	v.input = v.input[length:]
	if v.service && peer.MaxStreams > 0 {
		own.MaxStreams, own.MaxMetadata = 2, 64
		own.StreamMessages, own.StreamBytes = 4, 1000
	}
	own.Mirror(peer)
	rules := NewSession[int, *vectorStream](false, own, peer, true)
	v.rules = &rules
	v.answer("hello")
	return true
}

// entry processes a frame as the service does.
func (v *vectorServer) entry(head *Head, body []byte) error {
	var prefix [8]byte
	copy(prefix[:], body)
	var event Event[int, *vectorStream]
	value := uint64(0)
	for i, b := range prefix {
		value |= uint64(b) << (8 * i)
	}
	if err := v.rules.Receive(head, len(body), value, &event); err != nil {
		return err
	}
	if head.Kind == KindMessage && head.HasPrefix() {
		body = body[MetadataPrefix+event.Metadata:]
	}
	switch event.Change {
	case Requested:
		v.rules.TakeUp(head, len(body))
		if !head.Flags.Has(FlagNoReply) && head.Tag != vectorHold {
			v.send(head.Reply(), body)
			v.rules.Served.CallEnded(head.Stream)
		}
	case Opened:
		v.rules.TakeUpStream()
		event.Stream.Owner = &vectorStream{stream: event.Stream, method: head.Tag}
		fallthrough
	case Received:
		if !head.Flags.Has(FlagEmpty) && !event.Drops {
			event.Stream.Owner.messages = append(event.Stream.Owner.messages, body)
		}
		v.serve(event.Stream)
	case WasReset:
		v.serve(event.Stream)
	case Closed:
		// Handlers close their streams.
		v.rules.Streams.Each(func(kept *vectorStream) { v.rules.Streams.Close(kept.stream) })
	}
	for {
		due, found := v.rules.NextTransmit()
		if !found {
			break
		}
		v.send(due.Head, due.AppendBody(nil))
		v.rules.Transmitted(due)
	}
	if v.rules.Ending.HasClosed() && v.rules.Served.calls == 0 {
		v.end()
	}
	return nil
}

// serve runs a stream's handler on the available messages.
func (v *vectorServer) serve(stream *Stream[*vectorStream]) {
	kept, streams := stream.Owner, &v.rules.Streams
	if kept.method == vectorHold {
		return
	}
	for {
		switch stream.RecvState() {
		case RecvMessage:
			message := kept.messages[0]
			kept.messages = kept.messages[1:]
			streams.Take(stream, len(message))
			switch {
			case kept.method == vectorReset:
				streams.Reset(stream, vectorCode)
				return
			case kept.method == vectorDrop && len(message) == 0:
				streams.Close(stream)
				return
			case kept.method == vectorDrop:
				continue
			}
			if stream.SendState(false) != SendNow {
				panic("the vectors use up no window")
			}
			v.send(Head{Kind: KindMessage, Stream: stream.Number()}, message)
			streams.Sent(stream, len(message), false, false)
			continue
		case RecvEnd:
			switch {
			case kept.method == vectorDrop:
				stream.ReadEnd()
				streams.Close(stream)
			case stream.SendState(true) == SendNow:
				streams.Finish(stream)
			}
		}
		return
	}
}

// play plays a conversation, and returns the first line with another answer.
func (v *vectorServer) play(t *testing.T, lines []string) string {
	for _, line := range lines {
		direction, text, _ := strings.Cut(line, " ")
		if direction == ">" {
			v.feed(bytesOf(t, text))
			continue
		}
		if len(v.answers) == 0 || v.answers[0] != text {
			return fmt.Sprintf("%.200s, not %.300s", line, fmt.Sprint(v.answers))
		}
		v.answers = v.answers[1:]
	}
	if len(v.answers) > 0 {
		return fmt.Sprintf("%s more", v.answers)
	}
	return ""
}

func TestConversationsAreHeldByTheRulesAlone(t *testing.T) {
	pending, err := os.ReadFile("../../../docs/vectors/pending.txt")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(pending), "\ngo : ") {
		t.Error("pending.txt has lines for Go, of which this test does not know")
	}
	for _, name := range []string{"conversations.txt", "service.txt"} {
		text, err := os.ReadFile("../../../docs/vectors/" + name)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(text), "\nconversation ")[1:]
		for _, part := range parts {
			lines := strings.Split(strings.TrimSpace(part), "\n")
			if strings.Contains(part, "\n>1 ") {
				continue // The rules see no descriptors.
			}
			for _, service := range slices.Compact([]bool{name == "service.txt", true}) {
				t.Run(fmt.Sprint(name, "/", lines[0], "/", service), func(t *testing.T) {
					server := &vectorServer{service: service}
					if wrong := server.play(t, lines[1:]); wrong != "" {
						t.Error(wrong)
					}
				})
			}
		}
	}
}
