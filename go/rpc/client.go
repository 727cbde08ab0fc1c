package rpc

import (
	"context"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// A Client makes the calls of generated clients on one session, as a [breezeway.Client] does. Any
// number of generated clients and goroutines share it.
type Client struct {
	sessions  *breezeway.Client
	observers observers
}

// NewClient returns a client of the given addresses, separated by commas. It dials at the first
// call.
func NewClient(addresses string, opts ...breezeway.DialOption) *Client {
	own := []breezeway.DialOption{breezeway.WithService(wire.Number)}
	return &Client{sessions: breezeway.NewClient(addresses, append(own, opts...)...)}
}

// Close closes the session, with all that is in flight on it.
func (c *Client) Close() error { return c.sessions.Close() }

// Call makes a call for a generated client.
func (c *Client) Call(ctx context.Context, m Method, args thrift.Struct, result Result) error {
	return c.observers.around(ctx, m, result, func(observed context.Context) error {
		return c.call(ctx, observed, m, args, result)
	})
}

// call makes a call of the caller's context in the one that observers have returned.
func (c *Client) call(caller, ctx context.Context, m Method, args thrift.Struct,
	result Result) error {
	var reply breezeway.Message
	err := withRequestMetadata(caller, ctx, func(block []byte) (err error) {
		reply, err = c.send(ctx, m, block, args)
		return err
	})
	if err != nil {
		return failureOf(err)
	}
	defer reply.Release()
	if block, has := reply.Metadata(); has {
		if err := takeReply(ctx, block); err != nil {
			return err
		}
	}
	if err := thrift.Unmarshal(reply.Bytes(), result); err != nil {
		return &Exception{Kind: KindProtocolError,
			Message: "the reply of " + m.name + " cannot be read: " + err.Error()}
	}
	return result.Err()
}

func (c *Client) send(ctx context.Context, m Method, block []byte, args thrift.Struct) (
	breezeway.Message, error) {
	n := args.BLength()
	if n > inPlace {
		return c.sessions.CallFilled(ctx, m.tag, block, n, fill(args))
	}
	space := scratch.Get().(*[inPlace]byte)
	defer scratch.Put(space)
	bytes := space[:args.FastWrite(space[:n])]
	if block == nil {
		return c.sessions.Call(ctx, m.tag, bytes)
	}
	return c.sessions.CallWithMetadata(ctx, m.tag, block, bytes)
}

// Post sends the message of a oneway method for a generated client. Metadata does not travel with
// it.
func (c *Client) Post(ctx context.Context, m Method, args thrift.Struct) error {
	return c.observers.around(ctx, m, nil, func(ctx context.Context) error {
		return c.sessions.Post(ctx, m.tag, thrift.Marshal(args))
	})
}
