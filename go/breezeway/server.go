package breezeway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"

	"github.com/breezeway-ipc/breezeway/go/internal/segment"
)

// A Handler serves calls and one-way messages. Calls of different sessions run concurrently. Calls
// of one session run one after the other, unless the option [WithOffload] is set. If a handler
// returns an error without a reply, the call fails; a [*CallError] sets the code and the reason,
// and errors of package context set their codes.
//
// The context ends when the client cancels the call or is gone, at the call's deadline, at the
// session's end, and when the handler returns. A handler learns of a cancellation within about a
// millisecond. A shutdown by the client does not cancel earlier calls, and nothing cancels one-way
// messages.
type Handler func(ctx context.Context, call *Call) error

// A StreamHandler serves a stream in a goroutine of its own. The context is that of
// [Stream.Context]. The stream is closed when the handler returns; see [Stream.Close].
type StreamHandler func(ctx context.Context, stream *Stream)

// A Server accepts and serves sessions.
type Server struct {
	handler Handler       // nil for none
	streams StreamHandler // nil for none
	log     *slog.Logger

	opts     *options
	tls      *tls.Config // nil without an address of tls:
	bound    []*bound
	offload  chan struct{}
	refusing chan struct{}
	// refused limits the refused connections that can be slow to close; closing counts the other
	// connections that can be.
	refused  chan struct{}
	closing  int
	mu       sync.Mutex
	sessions map[*session]struct{}
	// pending holds connections that are not yet sessions, and those that are refused over TLS.
	// halfOpen holds those with an incomplete hello. admitted counts clients with a complete one,
	// and sessions.
	pending  map[net.Conn]struct{}
	halfOpen *halfOpens
	admitted int
	users    map[segment.User]int
	memory   *segment.Ledger // nil without a limit
	// draining is true once no new session is taken, stopped once the sockets no longer listen,
	// closed once all sessions are being closed.
	draining, stopped, closed bool
	// handedOver is true once a successor serves. Clients that have reached this server are still
	// served.
	handedOver bool
	succession *succession // nil without TakeOver
	accepting  sync.WaitGroup
	// failed, if set, receives the error that ended listening, unless the server was closed.
	failed func(error)
	// foreign serves a client of another protocol until its connection is closed; such clients are
	// refused if it is nil. foreigners are the connections that it serves.
	foreign    func(conn *foreignConn)
	foreigners map[*foreignConn]struct{}
	// leaving is true if each session is closed once nothing is in flight on it.
	leaving bool
	served  sync.WaitGroup
	idle    chan struct{}
}

// Listen binds addresses, separated by commas, and returns their server. Clients can connect from
// then on, and [Server.Serve] serves them. Calls fail with CodeNoSuchMethod if handler is nil.
func Listen(addresses string, handler Handler, opts ...ServerOption) (*Server, error) {
	s := &Server{handler: handler}
	if err := s.listen(addresses, opts...); err != nil {
		return nil, err
	}
	return s, nil
}

// listen binds the addresses.
func (s *Server) listen(addresses string, opts ...ServerOption) error {
	list, err := ParseAddresses(addresses)
	if err != nil {
		return err
	}
	if s.opts, err = serverOptions(opts); err != nil {
		return err
	}
	if s.opts.streams != nil {
		s.streams = s.opts.streams
	}
	if s.streams == nil {
		s.opts.maxStreams = 0
	}
	s.log = cmp.Or(s.log, s.opts.log, slog.Default())
	s.offload = make(chan struct{}, s.opts.offload)
	s.sessions, s.pending = map[*session]struct{}{}, map[net.Conn]struct{}{}
	s.foreigners = map[*foreignConn]struct{}{}
	s.users, s.halfOpen = map[segment.User]int{}, newHalfOpens()
	s.refusing = make(chan struct{}, refusedAtOnce)
	s.refused = make(chan struct{}, slowAtOnce)
	s.idle = make(chan struct{})
	if hasTLS(list) {
		if s.tls, err = s.opts.tlsConfig(false); err != nil {
			return err
		}
		if s.takesForeign() {
			s.tls.NextProtos = append(s.tls.NextProtos, s.opts.foreign)
		}
	}
	if s.opts.limitsMemory() && slices.ContainsFunc(list, isShm) {
		if s.memory, err = segment.NewLedger(s.opts.maxMemory, s.opts.memoryOfUser); err != nil {
			return fmt.Errorf("breezeway: %w", err)
		}
	}
	room := descriptorsOfSession*s.opts.maxSessions + s.halfOpen.most
	if err := segment.MakeRoom(room); err != nil {
		s.log.Warn("no room for as many descriptors as clients may need", "error", err)
	}
	if s.opts.takeOver {
		return s.takeOver(list)
	}
	for _, address := range list {
		b, err := bind(address, s.opts.socketMode)
		if err != nil {
			s.unbind()
			s.bound = nil // By now another server may own the paths.
			return fmt.Errorf("breezeway: listen at %v: %w", address, err)
		}
		s.bound = append(s.bound, b)
	}
	return nil
}

func isShm(a Address) bool { return a.Carrier == Shm }

func hasTLS(list []Address) bool {
	return slices.ContainsFunc(list, func(a Address) bool { return a.Carrier == TLS })
}

// unbind stops listening, and returns a channel that is closed once the sockets are.
func (s *Server) unbind() <-chan struct{} {
	var closing sync.WaitGroup
	for _, b := range s.bound {
		b.close(&closing)
	}
	closed := make(chan struct{})
	go func() {
		closing.Wait()
		close(closed)
	}()
	return closed
}

// Addresses returns the addresses of the server. A port 0 is replaced by the chosen one.
func (s *Server) Addresses() []Address {
	var list []Address
	for _, b := range s.bound {
		list = append(list, b.address)
	}
	return list
}

// Serve serves until Close, Shutdown or, with the option [WithTakeOver], until a successor serves
// and all clients have moved there. It then returns ErrServerClosed. If the server can no longer
// listen, Serve logs the error, asks its clients to leave, and returns the error once they have. No
// handler of a call runs when Serve returns. Handlers of streams may still run; their sessions have
// ended.
func (s *Server) Serve() error {
	if s.succession != nil {
		if err := s.begin(); err != nil {
			_ = s.Close()
			return err
		}
		go s.answerSuccessors()
	}
	failures := make(chan error, len(s.bound))
	s.accepting.Add(len(s.bound))
	for _, b := range s.bound {
		go func(b *bound) {
			defer s.accepting.Done()
			failures <- s.acceptOn(b)
		}(b)
	}
	var first error
	for range s.bound {
		if err := <-failures; first == nil {
			first = err
			s.stopListening()
			s.leaveAfter(err)
		}
	}
	<-s.idle
	s.served.Wait()
	return first
}

// leaveAfter asks the clients to leave after an error has ended listening.
func (s *Server) leaveAfter(err error) {
	if errors.Is(err, ErrServerClosed) {
		return
	}
	s.log.Error("breezeway: the server cannot listen any more", "error", err)
	if s.failed != nil {
		s.failed(err)
	}
	s.sendAway()
}

func (s *Server) acceptOn(b *bound) error {
	for {
		conn, err := b.socket.Accept()
		if err != nil {
			if s.isClosed() {
				return ErrServerClosed
			}
			if pause(err) {
				continue
			}
			return err
		}
		if reason := s.enter(conn); reason != nil {
			s.refuseBusy(conn, b.address.Carrier, reason)
			continue
		}
		s.served.Add(1)
		go func() {
			defer s.served.Done()
			s.serveConn(conn, b.address.Carrier)
		}()
	}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || s.draining
}
