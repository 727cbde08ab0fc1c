package breezeway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A Session is a client's connection with a server. Any number of goroutines share it. Calls are
// multiplexed, and a waiting goroutine drives the session, so that a lone caller reads its own
// reply. The garbage collector eventually closes a Session if neither it nor a stream of it is
// reachable.
type Session struct {
	session *session
	address Address
}

// Dial opens a session with the server at the first reachable address of a list, separated by
// commas: "shm:/run/x.sock,unix:/run/x-unix.sock,tcp:localhost:7000".
func Dial(ctx context.Context, addresses string, opts ...DialOption) (*Session, error) {
	list, err := ParseAddresses(addresses)
	if err != nil {
		return nil, err
	}
	set, err := dialOptions(opts)
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, address := range list {
		conn, err := dial(ctx, address, set)
		if err == nil {
			return conn, nil
		}
		failures = append(failures, fmt.Errorf("%v: %w", address, asForeign(address.Carrier, err)))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("breezeway: dial %w", errors.Join(failures...))
}

func dial(ctx context.Context, address Address, opts *options) (*Session, error) {
	config, err := opts.clientTLS(address)
	if err != nil {
		return nil, err
	}
	conn, err := connectTo(ctx, address, opts.handshakeTimeout)
	if errors.Is(err, unix.ECONNREFUSED) && !address.isRemote() {
		return nil, fmt.Errorf("%w: the socket file is a left-over of a server that ended; start "+
			"the server again, or, if the file alone is mounted here, mount its folder", err)
	}
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(opts.handshakeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(longAgo) })
	session, refused, err := clientSession(conn, address, opts, config)
	if !stop() { // The end of ctx has ended the handshake, or is about to.
		if err == nil {
			session.close()
		}
		err = ctx.Err()
	}
	if err != nil {
		closeApart(conn, refused, make(chan struct{}))
		return nil, err
	}
	return &Session{session, address}, nil
}

// backlogPause is the pause between two attempts to connect to a server with a full backlog: the
// kernel does not report room in it.
const backlogPause = 2 * time.Millisecond

// connectTo connects to an address until the timeout or the end of ctx, and retries while the
// server's backlog is full.
func connectTo(ctx context.Context, address Address, timeout time.Duration) (net.Conn, error) {
	until := time.Now().Add(timeout)
	dialer := net.Dialer{Timeout: timeout, KeepAlive: -1}
	for {
		conn, err := dialer.DialContext(ctx, address.network(), address.Path)
		if !errors.Is(err, unix.EAGAIN) { // Over TCP, a full backlog is not an error.
			return conn, err
		}
		if !time.Now().Before(until) {
			return nil, fmt.Errorf("the server's backlog has been full for %v: %w", timeout,
				os.ErrDeadlineExceeded)
		}
		select {
		case <-time.After(backlogPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func clientSession(conn net.Conn, address Address, opts *options, config *tls.Config) (*session,
	[]int, error) {
	g, err := meet(conn, address.Carrier, config, true)
	if err != nil {
		return nil, nil, opts.explained(err)
	}
	agreed, err := connect(g, opts)
	if err != nil {
		return nil, g.refused, opts.explained(err)
	}
	session, err := newSession(agreed, conn, g.raw, g.peer, opts, true)
	return session, nil, err
}

// Call sends a request and waits for its reply, which the caller must release. The request carries
// the deadline of ctx. If ctx ends before the reply arrives, the server is sent a cancellation; it
// may or may not have served the call. A failure reported by the server is a [*CallError].
func (s *Session) Call(
	ctx context.Context, method uint32, request []byte,
) (reply Message, err error) {
	err = s.session.call(ctx, method, &outgoing{bytes: request}, &reply)
	return reply, err
}

// CallWithMetadata makes a call like [Session.Call], with a metadata block beside the request.
func (s *Session) CallWithMetadata(
	ctx context.Context, method uint32, metadata, request []byte,
) (reply Message, err error) {
	out := outgoing{metadata: metadata, hasMetadata: true, bytes: request}
	err = s.session.call(ctx, method, &out, &reply)
	return reply, err
}

// CallReserved makes a call like [Session.Call], with a request that was filled in place.
func (s *Session) CallReserved(
	ctx context.Context, method uint32, r *Reservation,
) (reply Message, err error) {
	if r.session != s.session || !r.take() {
		return Message{}, ErrSent
	}
	out := outgoing{reserved: r}
	err = s.session.call(ctx, method, &out, &reply)
	if out.sent {
		r.drop()
	} else {
		r.untake()
	}
	return reply, err
}

// Post sends a one-way message, which has no reply. It reports only errors of this side. The server
// may not have served messages that were posted before the session's end.
func (s *Session) Post(ctx context.Context, method uint32, message []byte) error {
	return s.session.post(ctx, method, &outgoing{bytes: message})
}

// PostAll posts several messages with one wake-up of the server. After an error, some of them may
// have been sent.
func (s *Session) PostAll(ctx context.Context, method uint32, messages [][]byte) error {
	return s.session.postAll(ctx, method, messages)
}

// PostReserved sends a one-way message like [Session.Post], which was filled in place.
func (s *Session) PostReserved(ctx context.Context, method uint32, r *Reservation) error {
	if r.session != s.session || !r.take() {
		return ErrSent
	}
	err := s.session.post(ctx, method, &outgoing{reserved: r})
	r.sentOr(err)
	return err
}

// Reserve reserves space for a message of n bytes. It waits while the memory for it is lent.
//
// [Session.CallReserved] may wait for other calls to end while it has memory, and
// [Client.CallFilled] waits for memory while it has the place of a call. Both together on one
// session may wait for each other until a context ends.
func (s *Session) Reserve(ctx context.Context, n int) (*Reservation, error) {
	return s.session.reserve(n, limitOf(ctx))
}

func (s *session) reserve(n int, lim limit) (*Reservation, error) {
	r, err := s.reserveSpace(n, lim)
	if err == nil {
		r.abandonIfForgotten()
	}
	return r, err
}

// reserveSpace returns a reservation that its caller sends or abandons.
func (s *session) reserveSpace(n int, lim limit) (*Reservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.err != nil {
			return nil, s.err
		}
		r, err := s.link.reserve(n)
		if err == nil {
			r.session = s
			return r, nil
		}
		if err := s.waitForRoom(err, lim); err != nil {
			return nil, timedOut(err)
		}
	}
}

// Open opens a stream to the server.
func (s *Session) Open(ctx context.Context, method uint32) (*Stream, error) {
	return s.session.openStream(ctx, method, &outgoing{empty: true}, false)
}

// OpenWithMetadata opens a stream to the server with a metadata block.
func (s *Session) OpenWithMetadata(
	ctx context.Context, method uint32, metadata []byte,
) (*Stream, error) {
	out := outgoing{metadata: metadata, hasMetadata: true, empty: true}
	return s.session.openStream(ctx, method, &out, false)
}

// AcceptStream waits for a stream that the server opens, and returns it.
func (s *Session) AcceptStream(ctx context.Context) (*Stream, error) {
	var a arrival
	lim := limitOf(ctx)
	err := s.session.nextArrived(&lim, &a, nil)
	return a.stream, timedOut(err)
}

// Close closes the session in order. Calls in flight fail with ErrClosed.
func (s *Session) Close() error {
	s.session.close()
	waitAMoment(s.session.gone)
	return nil
}

// Done returns a channel that is closed when the session ends; Err returns the reason. If no
// goroutine waits on the session, the end of the peer is noticed late, since nothing reads the
// session.
func (s *Session) Done() <-chan struct{} { return s.session.done }

// Err returns the reason why the session has ended, or nil if it has not.
func (s *Session) Err() error {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	return s.session.err
}

// Carrier returns the carrier of the session.
func (s *Session) Carrier() Carrier { return s.address.Carrier }

// Address returns the address that was dialled successfully.
func (s *Session) Address() Address { return s.address }

// Peer returns the server's credentials, as the kernel recorded them when it began to listen.
func (s *Session) Peer() Peer { return s.session.peer }

// Service returns the number that the server set with the option [WithService].
func (s *Session) Service() uint16 { return s.session.peerHello.Service }

// MaxInFlight returns the maximum number of calls in flight. Further calls wait.
func (s *Session) MaxInFlight() int { return s.session.rules.MaxInFlight() }

// MaxMessage returns the maximum length of a message in bytes.
func (s *Session) MaxMessage() int { return s.session.link.maxMessage() }

// Counters returns the counters of this side.
func (s *Session) Counters() Counters {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	return s.session.link.counters()
}

// takenUp notes the call that was taken up, so that its client can cancel it.
func (s *session) takenUp(call *Call) {
	if call != nil && call.stream == nil && !call.IsOneWay() {
		s.taken = call
	}
}

// nextArrived waits for the next request or stream from the peer, and stores it in a, the arrival
// of call if that is not nil.
func (s *session) nextArrived(lim *limit, a *arrival, call *Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endIfServed()
	if s.err == nil && s.mayTakeUp() {
		s.nextArrival(a)
		s.takenUp(call)
		s.promote()
		return nil
	}
	w := s.newWaiter()
	w.stands = true
	if err := s.waitIn(&s.acceptWaiters, w, lim, s.mayTakeUp); err != nil {
		s.ended()
		return err
	}
	s.nextArrival(a)
	s.takenUp(call)
	s.promote()
	return nil
}
