package breezewaykitex

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cloudwego/gopkg/protocol/thrift"
	"github.com/cloudwego/kitex/pkg/remote"
	"github.com/cloudwego/kitex/pkg/remote/codec"
	kthrift "github.com/cloudwego/kitex/pkg/remote/codec/thrift"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/pkg/stats"
)

const (
	// maxName is the length of the longest method name that a plain client may send.
	maxName = 64 << 10
	// atOnce is how many bytes a buffer may allocate before any of them have come.
	atOnce = 1 << 20
)

var (
	errName   = errors.New("the name of the method is longer than 64 KiB")
	errLonger = errors.New("the request is longer than the server's option WithCap allows")
)

// plainCodec reads the headers of plain clients by Kitex's codec, and their Thrift by
// validatingCodec.
type plainCodec struct {
	remote.Codec
	remote.MetaDecoder
	factory *serverFactory // whose longest bounds the requests
}

// validated returns a codec that validates requests before generated code reads them. It returns a
// codec without a stage for headers unchanged.
func validated(inner remote.Codec, factory *serverFactory) remote.Codec {
	if decoder, is := inner.(remote.MetaDecoder); is {
		return plainCodec{inner, decoder, factory}
	}
	return inner
}

// DecodePayload reads the request behind the headers.
func (c plainCodec) DecodePayload(ctx context.Context, message remote.Message,
	in remote.ByteBuffer) error {
	if message.RPCInfo().Config().PayloadCodec() != serviceinfo.Thrift {
		return remote.NewTransErrorWithMsg(remote.InvalidProtocol, "Breezeway carries Thrift")
	}
	payload, err := remote.GetPayloadCodec(message)
	if err != nil {
		return err
	}
	if kthrift.IsThriftCodec(payload) {
		message.SetPayloadCodec(validatingCodec{payload, c.factory.longest})
	}
	return c.MetaDecoder.DecodePayload(ctx, message, in)
}

// validatingCodec reads Thrift as Kitex's codec does, and validates each struct first.
type validatingCodec struct {
	remote.PayloadCodec
	longest int
}

// Unmarshal reads a request. A length allocates little before its bytes have come.
func (c validatingCodec) Unmarshal(ctx context.Context, message remote.Message,
	in remote.ByteBuffer) error {
	if message.PayloadLen() > c.longest {
		return remote.NewTransError(remote.ProtocolError, errLonger)
	}
	buffer := steadyBuffer{in, c.longest}
	name, err := readHead(message, buffer)
	if err != nil {
		return err
	}
	if err := codec.SetOrCheckMethodName(ctx, name, message); err != nil {
		return err
	}
	if err := codec.NewDataIfNeeded(name, message); err != nil {
		return err
	}
	rpcinfo.Record(ctx, message.RPCInfo(), stats.WaitReadStart, nil)
	body, err := readBody(message.PayloadLen()-thrift.Binary.MessageBeginLength(name), buffer)
	if err == nil {
		err = decodeBytes(ctx, c.PayloadCodec, name, body, message.Data())
	}
	rpcinfo.Record(ctx, message.RPCInfo(), stats.WaitReadFinish, err)
	if err != nil {
		return remote.NewTransErrorWithMsg(remote.ProtocolError,
			"the arguments cannot be read: "+err.Error())
	}
	return nil
}

// readHead reads the head of a request, and returns the name of its method.
func readHead(message remote.Message, buffer steadyBuffer) (string, error) {
	head, err := buffer.Peek(8)
	if err != nil {
		return "", remote.NewTransError(remote.ProtocolError, err)
	}
	if binary.BigEndian.Uint32(head[4:]) > maxName {
		return "", remote.NewTransError(remote.ProtocolError, errName)
	}
	reader := thrift.NewBufferReader(buffer)
	defer reader.Recycle()
	name, kind, sequence, err := reader.ReadMessageBegin()
	if err != nil {
		return "", remote.NewTransError(remote.ProtocolError, err)
	}
	if err := codec.UpdateMsgType(uint32(kind), message); err != nil {
		return "", err
	}
	return name, codec.SetOrCheckSeqID(sequence, message)
}

// readBody returns the bytes of a request's struct. If the length is not positive, the request has
// no frame, and the struct's own stop field ends it.
func readBody(length int, buffer steadyBuffer) ([]byte, error) {
	if length > 0 {
		return buffer.Next(length)
	}
	decoder := thrift.NewSkipDecoder(buffer)
	defer decoder.Release()
	return decoder.Next(thrift.STRUCT)
}

// steadyBuffer reads a buffer in steps that double, so that a length alone allocates little.
type steadyBuffer struct {
	remote.ByteBuffer
	longest int // request
}

// Peek returns the next bytes.
func (b steadyBuffer) Peek(n int) ([]byte, error) {
	if n > b.longest {
		return nil, errLonger
	}
	for step := atOnce; step < n; step *= 2 {
		if _, err := b.ByteBuffer.Peek(step); err != nil {
			return nil, err
		}
	}
	return b.ByteBuffer.Peek(n)
}

// Next returns the next bytes, and takes them.
func (b steadyBuffer) Next(n int) ([]byte, error) {
	if _, err := b.Peek(n); err != nil {
		return nil, err
	}
	return b.ByteBuffer.Next(n)
}

var (
	_ remote.Codec       = plainCodec{}
	_ remote.MetaDecoder = plainCodec{}
)
