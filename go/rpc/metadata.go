package rpc

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
)

// outgoingKey is the key of the names and values, with their prefixes, that calls with a context
// send.
type outgoingKey struct{}

// WithMetadata returns a context whose calls send a name and a value to the called service only.
func WithMetadata(ctx context.Context, name, value string) context.Context {
	return withOutgoing(ctx, wire.Transit+name, value)
}

// WithPersistentMetadata returns a context whose calls send a name and a value, which the called
// service passes on with its own calls.
func WithPersistentMetadata(ctx context.Context, name, value string) context.Context {
	return withOutgoing(ctx, wire.Persist+name, value)
}

func withOutgoing(ctx context.Context, name, value string) context.Context {
	pairs := maps.Clone(outgoing(ctx))
	if pairs == nil {
		pairs = map[string]string{}
	}
	pairs[name] = value
	return context.WithValue(ctx, outgoingKey{}, pairs)
}

func outgoing(ctx context.Context) map[string]string {
	pairs, _ := ctx.Value(outgoingKey{}).(map[string]string)
	return pairs
}

// replyKey is the key of the map that a call's reply metadata is stored in.
type replyKey struct{}

// WithReplyMetadata returns a context whose calls store the names and values of their reply in
// pairs. Use it for one call at a time.
func WithReplyMetadata(ctx context.Context, pairs *map[string]string) context.Context {
	return context.WithValue(ctx, replyKey{}, pairs)
}

// takeReply stores the metadata of a reply in the map of the context, if it has one.
func takeReply(ctx context.Context, block []byte) error {
	into, is := ctx.Value(replyKey{}).(*map[string]string)
	if !is {
		return nil
	}
	pairs, err := decodeReply(block)
	*into = pairs
	return err
}

// servedKey is the key of a handler's own context.
type servedKey struct{}

// served is the context of a handler.
type served struct {
	context.Context
	carrier  breezeway.Carrier
	request  map[string]string // without prefixes
	outgoing map[string]string // the persistent ones, with their prefix

	mu    sync.Mutex
	reply map[string]string
}

// begin makes the context that of the handler of a request with a metadata block, or without one.
func (s *served) begin(ctx context.Context, carrier breezeway.Carrier, block []byte,
	has bool) error {
	s.Context, s.carrier = ctx, carrier
	if !has {
		return nil
	}
	pairs, err := wire.DecodePairs(block)
	if err != nil {
		return &Exception{Kind: KindProtocolError, Message: err.Error()}
	}
	s.request, s.outgoing = map[string]string{}, map[string]string{}
	for name, value := range pairs {
		if bare, is := strings.CutPrefix(name, wire.Transit); is {
			s.request[bare] = value
		}
	}
	for name, value := range pairs {
		if bare, is := strings.CutPrefix(name, wire.Persist); is {
			s.outgoing[name] = value
			if _, has := s.request[bare]; !has {
				s.request[bare] = value
			}
		}
	}
	return nil
}

// Value returns the handler's own values, or those of the call's context.
func (s *served) Value(key any) any {
	switch key.(type) {
	case servedKey:
		return s
	case outgoingKey:
		return s.outgoing
	}
	return s.Context.Value(key)
}

// Metadata returns the value of a name that the caller of a handler has sent, or for a persistent
// name any caller before it.
func Metadata(ctx context.Context, name string) (value string, has bool) {
	if s, is := ctx.Value(servedKey{}).(*served); is {
		value, has = s.request[name]
	}
	return value, has
}

// CarrierOf returns the carrier of the session by which a handler was called. It returns false for
// a context that is no handler's.
func CarrierOf(ctx context.Context) (carrier breezeway.Carrier, has bool) {
	s, is := ctx.Value(servedKey{}).(*served)
	if is {
		carrier = s.carrier
	}
	return carrier, is
}

// SetReplyMetadata has a handler's reply carry a name and a value. On a stream they arrive before
// the first message if they are set before it, and with the stream's end otherwise. It returns
// false for a context that is no handler's.
func SetReplyMetadata(ctx context.Context, name, value string) bool {
	s, is := ctx.Value(servedKey{}).(*served)
	if !is {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reply == nil {
		s.reply = map[string]string{}
	}
	s.reply[name] = value
	return true
}

// takeBlock returns the block of the names and values that were set since it was last called.
func (s *served) takeBlock() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pairs := s.reply
	s.reply = nil
	return wire.EncodePairs(pairs)
}
