package breezewaykitex

import (
	"context"
	"errors"

	"github.com/bytedance/gopkg/lang/mcache"
	"github.com/cloudwego/gopkg/protocol/thrift"
	"github.com/cloudwego/kitex/pkg/remote"
	kthrift "github.com/cloudwego/kitex/pkg/remote/codec/thrift"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
)

// inPlace is the length from which a struct is written where its message is sent from. Shorter ones
// are encoded before, and copied there.
const inPlace = 4 << 10

// errChanged is returned for a value that another goroutine changes while it is sent.
var errChanged = errors.New("kitex: the value has changed while it was encoded")

// body is a bare struct that is to be sent: bytes, or a value of n bytes that write writes.
type body struct {
	bytes  []byte
	value  thrift.FastCodec
	n      int
	failed error // of write
}

// encodeBody returns a value as a bare struct. The caller frees it.
func encodeBody(ctx context.Context, codec remote.PayloadCodec, value any) (b body, err error) {
	fast, is := value.(thrift.FastCodec)
	if !is {
		b.bytes, err = kthrift.MarshalThriftData(ctx, codec, value)
		return b, err
	}
	if b.n = fast.BLength(); b.n >= inPlace {
		b.value = fast
		return b, nil
	}
	return body{bytes: encodeBytes(fast, b.n)}, nil
}

// encodeBytes returns a value of n bytes as a bare struct, in memory that free takes back.
func encodeBytes(value thrift.FastCodec, n int) []byte {
	space := mcache.Malloc(n)
	return space[:value.FastWriteNocopy(space, nil)]
}

func (b *body) isInPlace() bool { return b.value != nil }

// write writes the value to the message's memory. It is not called once the call's context has
// ended, after which the caller may change the value. A caller must not change it when a timeout
// ends the call while write runs; Kitex's own transports also encode in a goroutine that outlives
// the call then.
func (b *body) write(space []byte) error {
	if b.failed = nil; b.value.FastWriteNocopy(space, nil) != len(space) {
		b.failed = errChanged
	}
	return b.failed
}

// free frees the memory of the bytes.
func (b *body) free() {
	mcache.Free(b.bytes)
	b.bytes = nil
}

// encoded returns the body as bytes.
func (b *body) encoded() []byte {
	if b.isInPlace() {
		*b = body{bytes: encodeBytes(b.value, b.n)}
	}
	return b.bytes
}

// sendBody sends a value as a message of a stream.
func sendBody(ctx context.Context, codec remote.PayloadCodec, stream *breezeway.Stream,
	value any) error {
	body, err := encodeBody(ctx, codec, value)
	if err != nil {
		return err
	}
	if body.isInPlace() {
		return stream.SendFilled(ctx, body.n, body.write)
	}
	defer body.free()
	return stream.Send(ctx, body.bytes)
}

// decodeBody reads a value, which is all of a message. It keeps nothing of the message, and
// releases it.
func decodeBody(ctx context.Context, codec remote.PayloadCodec, method string,
	message *breezeway.Message, value any) error {
	defer message.Release()
	if fast, is := value.(thrift.FastCodec); is && message.Len() >= large {
		return readLarge(message, fast)
	}
	body, err := message.AppendTo(mcache.Malloc(message.Len())[:0])
	if err != nil {
		return err
	}
	defer mcache.Free(body)
	return decodeBytes(ctx, codec, method, body, value)
}

// decodeBytes reads a value, which is all of the bytes.
func decodeBytes(ctx context.Context, codec remote.PayloadCodec, method string, body []byte,
	value any) error {
	fast, is := value.(thrift.FastCodec)
	if !is {
		return kthrift.UnmarshalThriftData(ctx, codec, method, body, value)
	}
	return readStruct(body, fast)
}
