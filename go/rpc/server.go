package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/breezeway-ipc/breezeway/go/breezeway"
	"github.com/breezeway-ipc/breezeway/go/internal/wire"
	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// mostHandlers is the number of handlers that run at the same time, unless the option WithOffload
// sets another limit: the most that it takes.
const mostHandlers = 65536

// A Server serves services. Register them with the functions of the generated code, then call
// Listen and Serve. Handlers run concurrently.
type Server struct {
	native    *breezeway.Server // nil before Listen
	methods   map[uint32]method
	services  []string // their names
	observers observers
	failed    error // of a registration
	listens   bool
}

// method is a method with its handler: of calls or of streams.
type method struct {
	Method
	call   func(ctx context.Context, call *Call) error
	stream func(ctx context.Context, stream *ServerStream) error
}

// Handle registers the handler of a method's calls for generated code.
func (s *Server) Handle(m Method, handler func(ctx context.Context, call *Call) error) {
	s.add(method{Method: m, call: handler})
}

// HandleStream registers the handler of a method's streams for generated code.
func (s *Server) HandleStream(m Method,
	handler func(ctx context.Context, stream *ServerStream) error) {
	s.add(method{Method: m, stream: handler})
}

func (s *Server) add(m method) {
	if s.listens {
		panic("rpc: " + m.name + " is registered after Listen; register every service before it")
	}
	if other, has := s.methods[m.tag]; has && s.failed == nil {
		s.failed = fmt.Errorf("rpc: %v and %v have the same number %#08x; rename one, or serve "+
			"them at two addresses", other, m, m.tag)
	}
	if s.methods == nil {
		s.methods = map[uint32]method{}
	}
	s.methods[m.tag] = m
	if service, _, _ := strings.Cut(m.name, "."); !slices.Contains(s.services, service) {
		s.services = append(s.services, service)
	}
}

// Listen listens at the given addresses, separated by commas. It fails if two registered methods
// have one number.
func (s *Server) Listen(addresses string, opts ...breezeway.ServerOption) (err error) {
	if s.failed != nil {
		return s.failed
	}
	s.listens = true
	own := []breezeway.ServerOption{breezeway.WithService(wire.Number),
		breezeway.WithOffload(mostHandlers), breezeway.WithStreamHandler(s.serveStream)}
	s.native, err = breezeway.Listen(addresses, s.serve, append(own, opts...)...)
	return err
}

// Serve serves like [breezeway.Server.Serve], after Listen.
func (s *Server) Serve() error { return s.native.Serve() }

// Addresses returns the addresses of the server. A port 0 is replaced by the chosen one.
func (s *Server) Addresses() []breezeway.Address { return s.native.Addresses() }

// Shutdown stops like [breezeway.Server.Shutdown].
func (s *Server) Shutdown(ctx context.Context) error {
	if s.native == nil {
		return nil
	}
	return s.native.Shutdown(ctx)
}

// Close stops like [breezeway.Server.Close].
func (s *Server) Close() error {
	if s.native == nil {
		return nil
	}
	return s.native.Close()
}

// A Call is a request that a handler of generated code serves.
type Call struct {
	native    *breezeway.Call
	ctx       served
	isReplied bool
}

func (s *Server) serve(ctx context.Context, native *breezeway.Call) error {
	m, has := s.methods[native.Method()]
	switch {
	case !has:
		return wire.NoSuchMethod(s.services)
	case m.call == nil:
		return &breezeway.CallError{Code: wire.CodeOf(KindInvalidMessageType),
			Reason: m.name + " is a stream, and was called"}
	}
	block, has := native.Request().Metadata()
	call := &Call{native: native}
	err := call.ctx.begin(ctx, native.Carrier(), block, has)
	if err == nil {
		err = s.observers.around(&call.ctx, m.Method, nil, func(ctx context.Context) error {
			return m.call(ctx, call)
		})
	}
	switch {
	case err != nil && native.IsOneWay():
		return fmt.Errorf("%v: %w", m, err) // The server logs it.
	case call.isReplied:
		return err
	case err != nil:
		return codeOf(&call.ctx, m.Method, err)
	}
	return native.Reply(nil)
}

// Read reads the arguments.
func (c *Call) Read(args thrift.Struct) error {
	request := c.native.Request()
	defer request.Release()
	if err := thrift.Unmarshal(request.Bytes(), args); err != nil {
		return &Exception{Kind: KindProtocolError,
			Message: "the arguments cannot be read: " + err.Error()}
	}
	return nil
}

// Reply replies with a result, or with err if it is an exception that the result has a field for.
// It returns other errors.
func (c *Call) Reply(result Result, err error) error {
	if err != nil && !result.SetErr(err) {
		return err
	}
	block, err := c.ctx.takeBlock()
	if err != nil {
		return err
	}
	if err = c.reply(block, result); err == nil {
		c.isReplied = true
		return nil
	}
	var tooMuch *breezeway.TooMuchMetadataError
	if errors.As(err, &tooMuch) {
		if tooMuch.Max > 0 {
			return err
		}
		err = c.reply(nil, result) // The client takes no metadata at all.
	}
	c.isReplied = !errors.Is(err, errChanged)
	return err
}

func (c *Call) reply(block []byte, result Result) error {
	n := result.BLength()
	if n > inPlace {
		return c.native.ReplyFilled(block, n, fill(result))
	}
	space := scratch.Get().(*[inPlace]byte)
	defer scratch.Put(space)
	bytes := space[:result.FastWrite(space[:n])]
	if block == nil {
		return c.native.Reply(bytes)
	}
	return c.native.ReplyWithMetadata(block, bytes)
}
