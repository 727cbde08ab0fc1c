package kitex

import (
	"context"

	"github.com/bytedance/gopkg/lang/mcache"
	"github.com/cloudwego/gopkg/protocol/thrift"
	"github.com/cloudwego/kitex/pkg/remote"
	kthrift "github.com/cloudwego/kitex/pkg/remote/codec/thrift"

	breezeway "github.com/breezeway-ipc/breezeway/go"
)

// encodeBody returns a value as a bare struct, in memory that freeBody takes back.
func encodeBody(ctx context.Context, codec remote.PayloadCodec, value any) ([]byte, error) {
	fast, is := value.(thrift.FastCodec)
	if !is {
		return kthrift.MarshalThriftData(ctx, codec, value)
	}
	body := mcache.Malloc(fast.BLength())
	return body[:fast.FastWriteNocopy(body, nil)], nil
}

func freeBody(body []byte) { mcache.Free(body) }

// decodeBody reads a value, which is all of a message. It keeps nothing of the message, and
// releases it.
func decodeBody(ctx context.Context, codec remote.PayloadCodec, method string,
	message *breezeway.Message, value any) error {
	defer message.Release()
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
