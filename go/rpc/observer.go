package rpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// An Observer is called when a client begins a call, a one-way message or a stream, or when a
// server has one for a handler. It returns a context, in which the call is made or the handler
// runs, and a function that is called once, at the end of the call or stream. Its err is the error
// of one that has failed; a declared exception is a reply, and no error.
//
// A client's observer adds metadata to the request by [WithMetadata]. Metadata of the caller counts
// before it, and a server that does not take as much gets the request without it. A server's
// observer reads it by [Metadata].
//
// A client's stream ends when its Recv returns an error or io.EOF, by its Close, or with the
// context of its call.
type Observer func(ctx context.Context, m Method) (observed context.Context, end func(err error))

// Observe adds an observer of the client's calls. Call it before the first one.
func (c *Client) Observe(o Observer) { c.observers = append(c.observers, o) }

// Observe adds an observer of the calls that the server's handlers serve. Call it before Listen.
func (s *Server) Observe(o Observer) { s.observers = append(s.observers, o) }

// observers are called in their order, and their functions for the end in the reverse order.
type observers []Observer

func (o observers) begin(ctx context.Context, m Method) (context.Context, func(err error)) {
	if len(o) == 0 {
		return ctx, func(error) {}
	}
	ends := make([]func(error), len(o))
	for i, observer := range o {
		ctx, ends[i] = observer(ctx, m)
	}
	var once sync.Once
	return ctx, func(err error) {
		once.Do(func() {
			for i := range ends {
				ends[len(ends)-1-i](err)
			}
		})
	}
}

// around runs a call within its observers. Result is the method's at a client, else nil.
func (o observers) around(ctx context.Context, m Method, result Result,
	call func(ctx context.Context) error) error {
	if len(o) == 0 {
		return call(ctx)
	}
	ctx, end := o.begin(ctx, m)
	var err error = &breezeway.CallError{Code: breezeway.CodePanicked}
	defer func() { end(outcome(err, result)) }()
	err = call(ctx)
	return err
}

// outcome returns the error that observers get for err.
func outcome(err error, result Result) error {
	if err != nil && result != nil && result.SetErr(err) {
		return nil
	}
	return err
}

// errClosedEarly is the error that observers get for a stream that its user has closed.
var errClosedEarly = fmt.Errorf("rpc: the stream was closed before its end: %w", context.Canceled)

// withRequestMetadata has send send the metadata of a request: that of the caller's context, and
// that which observers have added to it.
func withRequestMetadata(caller, observed context.Context, send func(block []byte) error) error {
	own, added := outgoing(caller), outgoing(observed)
	pairs, isLonger := own, len(added) > len(own)
	if isLonger {
		pairs = maps.Clone(added)
		maps.Copy(pairs, own)
	}
	block, err := wire.EncodePairs(pairs)
	if err == nil {
		err = send(block)
	}
	if isLonger && (errors.As(err, new(*breezeway.TooMuchMetadataError)) ||
		errors.As(err, new(*breezeway.TooLargeError))) {
		if block, err = wire.EncodePairs(own); err == nil {
			err = send(block)
		}
	}
	return err
}
