package breezeway

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A WaitPolicy determines how a goroutine that drives a session waits for input.
type WaitPolicy int

const (
	// Adaptive polls for a short, self-tuning time and then parks. It does not poll if GOMAXPROCS
	// is 1.
	Adaptive WaitPolicy = iota
	// Busy polls without end, and occasionally yields to other goroutines. It has the lowest
	// latency and occupies one CPU while it waits.
	Busy
	// Park parks immediately, in the runtime's network poller.
	Park
)

var policyNames = [...]string{"adaptive", "busy", "park"}

func (p WaitPolicy) String() string {
	if p < 0 || int(p) >= len(policyNames) {
		return fmt.Sprintf("wait policy %d", int(p))
	}
	return policyNames[p]
}

const lendCount = 512

type options struct {
	wait             WaitPolicy
	spinBound        time.Duration
	cap              uint64
	prefault         uint64
	shrinkAfter      time.Duration
	underWay         uint64
	ringCapacity     uint32
	handshakeTimeout time.Duration
	callTimeout      time.Duration
	streamMessages   uint32
	streamBytes      uint64
	maxStreams       int
	maxMetadata      int
	maxSessions      int
	sessionsOfUser   int
	maxMemory        uint64
	memoryOfUser     uint64
	waitForServer    time.Duration
	returnToFirst    time.Duration
	service          uint16
	socketMode       uint32
	offload          int
	replyTimeout     time.Duration
	trusted          uint64
	drainTimeout     time.Duration
	takeOver         bool
	adminSocket      string
	chain, key       string
	roots            string
	tls              *tls.Config
	foreign          string
	authorize        func(Peer) error
	onStart          func(Peer)
	onEnd            func(Peer, error)
	streams          StreamHandler
	log              *slog.Logger
}

func defaults() options {
	return options{
		spinBound: 100 * time.Microsecond, cap: 64 << 20,
		shrinkAfter: time.Second, ringCapacity: 256, handshakeTimeout: time.Second,
		streamMessages: 64, streamBytes: 1 << 20, maxStreams: 1024, maxMetadata: 16 << 10,
		maxSessions: 4096, socketMode: 0o600, replyTimeout: time.Second,
		drainTimeout: time.Second,
		authorize:    func(Peer) error { return nil },
	}
}

// A DialOption configures a session, a [Client] or a [NetDialer]. Values are validated when they
// are used.
type DialOption interface{ applyToDial(*options) }

// A ServerOption configures a [Server] or a [NetListener]. Values are validated when they are used.
type ServerOption interface{ applyToServer(*options) }

// An Option configures either side. Each side has its own options; of limits, the smaller value
// applies.
type Option interface {
	DialOption
	ServerOption
}

type (
	option       func(*options)
	dialOption   func(*options)
	serverOption func(*options)
)

func (f option) applyToDial(o *options)         { f(o) }
func (f option) applyToServer(o *options)       { f(o) }
func (f dialOption) applyToDial(o *options)     { f(o) }
func (f serverOption) applyToServer(o *options) { f(o) }

// WithWaitPolicy sets the wait policy of this side. The default is Adaptive.
func WithWaitPolicy(policy WaitPolicy) Option {
	return option(func(o *options) { o.wait = policy })
}

// WithCap sets the limit on payload memory per direction, and thereby on one message: 1 byte to 1
// TiB, rounded up to whole pages. On a socket, values of 4 GiB and more are reduced to just below.
// Memory is allocated as messages need it. The default is 64 MiB.
func WithCap(bytes uint64) Option { return option(func(o *options) { o.cap = bytes }) }

// WithPrefault sets the payload memory that this side allocates when a session is set up, instead
// of with the first message over 104 bytes: up to 1 TiB, at least 64 KiB and at most the cap. It is
// allocated after the hellos, outside of any timeout. A server allocates it for each client that
// connects, used or not; [WithMaxMemory] counts it. An idle session keeps it. If memory is short,
// the session is established without it. On a socket the option has no effect. The default is 0.
func WithPrefault(bytes uint64) Option { return option(func(o *options) { o.prefault = bytes }) }

// WithRingCapacity sets the number of entries in this side's ring: a power of two, 8 to 65536. Half
// of the smaller ring of both sides is the maximum number of calls in flight. A server enlarges its
// ring to the size of its client's, up to 1024 entries. The default is 256.
func WithRingCapacity(entries uint32) Option {
	return option(func(o *options) { o.ringCapacity = entries })
}

// WithHandshakeTimeout sets the limit on connecting, which includes retries while the server's
// backlog is full, and the limit on receiving the peer's hello. Each may be up to 1 h. The default
// is 1 s.
func WithHandshakeTimeout(timeout time.Duration) Option {
	return option(func(o *options) { o.handshakeTimeout = timeout })
}

// WithCallTimeout sets a limit on each call, in addition to its context. The default, 0, sets no
// limit.
func WithCallTimeout(timeout time.Duration) DialOption {
	return dialOption(func(o *options) { o.callTimeout = timeout })
}

// WithStreamWindow sets how much the peer may send on each stream before this side has received
// some of it: at least 1 message and 1 byte. A message may start while neither limit is reached, so
// that a message larger than the window passes alone. The default is 64 messages and 1 MiB.
func WithStreamWindow(messages uint32, bytes uint64) Option {
	return option(func(o *options) { o.streamMessages, o.streamBytes = messages, bytes })
}

// WithMaxStreams sets how many streams the peer may have open at the same time, 0 to 65535. The
// default is 1024. A server without a stream handler accepts none.
func WithMaxStreams(streams int) Option {
	return option(func(o *options) { o.maxStreams = streams })
}

// WithMaxMetadata sets the longest metadata block that this side accepts, 0 to 65535 bytes. The
// default is 16 KiB.
func WithMaxMetadata(bytes int) Option { return option(func(o *options) { o.maxMetadata = bytes }) }

// WithTrustedPeer lets [Message.Slice] return slices of the peer's memory. The peer is trusted not
// to write to memory that it has lent, which nothing prevents. A segment with such a slice stays
// mapped while this process lives. The argument limits the bytes of these segments over all
// sessions, 1 byte to 1 TiB. The default, 0, allows no slices.
func WithTrustedPeer(most uint64) Option { return option(func(o *options) { o.trusted = most }) }

// WithCertificate sets this side's certificate for tls:. A server needs one; a client presents it
// to a server that asks. The first PEM file holds the certificate, followed by those between it and
// a root; the second holds its private key. Listen and each Dial read the files.
func WithCertificate(chain, key string) Option {
	return option(func(o *options) { o.chain, o.key = chain, key })
}

// WithRoots sets a PEM file with certificates of authorities, one of which must have issued the
// peer's certificate over tls:. A client needs it. A server with this option serves only clients
// with a certificate (mutual TLS).
func WithRoots(file string) Option { return option(func(o *options) { o.roots = file }) }

// WithTLSConfig sets the configuration for tls: if certificates are not in files. A client needs
// RootCAs, a server Certificates or GetCertificate. Breezeway sets the version, the protocol and
// resumption. The server's certificate must be for the address's host, unless ServerName is set.
// The options [WithCertificate] and [WithRoots] replace their fields. GetConfigForClient and
// InsecureSkipVerify are rejected: either one would bypass the verification of the peer's
// certificate by this configuration.
func WithTLSConfig(config *tls.Config) Option { return option(func(o *options) { o.tls = config }) }

// WithMaxSessions sets the maximum number of sessions of a server, 1 to 1000000. Further clients
// are refused with the reason. Clients with an incomplete hello do not count. Their number is
// limited to 1024, or to a quarter of the process's descriptors if that is less; one more ends the
// oldest connection of the user with the most, or over tcp and tls of the host with the most. The
// default is 4096.
func WithMaxSessions(count int) ServerOption {
	return serverOption(func(o *options) { o.maxSessions = count })
}

// WithMaxSessionsOfUser sets the maximum number of sessions of one user, 1 to 1000000, so that one
// user's programs leave room for others. Further clients are refused with the reason. All users
// that are not known here count as one. The limit does not apply over tcp and tls, where users are
// not known. By default only MaxSessions limits a user.
func WithMaxSessionsOfUser(count int) ServerOption {
	return serverOption(func(o *options) { o.sessionsOfUser = count })
}

// WithMaxMemory sets a limit in bytes on the shared memory created by this server that clients
// hold: control segments and the memory of replies. It includes memory of sessions that have ended,
// until no process holds it. Above the limit a client is refused with the reason, and a reply that
// needs more memory fails. The memory of requests is created by clients and does not count. The
// default, 0, sets no limit, and counts nothing. The accounting needs an inotify instance for the
// server and a watch for each segment (fs.inotify.max_user_instances and max_user_watches). A
// segment that cannot be counted is not created.
func WithMaxMemory(bytes uint64) ServerOption {
	return serverOption(func(o *options) { o.maxMemory = bytes })
}

// WithMaxMemoryOfUser sets a limit like [WithMaxMemory] for the clients of each user, so that one
// user's programs leave room for others. All users that are not known here count as one. The
// default, 0, sets no limit.
func WithMaxMemoryOfUser(bytes uint64) ServerOption {
	return serverOption(func(o *options) { o.memoryOfUser = bytes })
}

func (o *options) limitsMemory() bool { return o.maxMemory > 0 || o.memoryOfUser > 0 }

// WithWaitForServer sets how long a call of a [Client] and Dial of a [NetDialer] wait for a server
// that is absent, within their contexts. They retry after pauses that grow from 1 ms to 200 ms,
// each reduced by a random part of up to half, so that clients do not return to a restarted server
// all at once. The default, 0, fails immediately.
func WithWaitForServer(time time.Duration) DialOption {
	return dialOption(func(o *options) { o.waitForServer = time })
}

// WithReturnToFirst sets the interval at which a [Client] or [NetDialer] in use tries the first of
// several addresses again, while its session is at another one. By default, 0, it stays where it is
// until the session ends.
func WithReturnToFirst(every time.Duration) DialOption {
	return dialOption(func(o *options) { o.returnToFirst = every })
}

// WithForeignProtocol makes a [NetListener] also accept clients of another protocol: those whose
// first eight bytes are not those of a hello, and over tls those that name the protocol by ALPN.
// Accept returns their connections unchanged. The limits of a handshake apply until these bytes
// have arrived; [WithAuthorize] and [WithMaxSessions] apply as for sessions. By default such
// clients are refused.
//
// A client may connect ahead of its first call: the time of the handshake begins with its first
// byte. Until then it counts against the limit on incomplete hellos.
func WithForeignProtocol(alpn string) Option {
	return option(func(o *options) { o.foreign = alpn })
}

// WithService sets the number of the protocol of this side's messages, which the hello carries: 0,
// the default, for any that both sides agree on, 1 for Breezeway RPC, 2 for gRPC. The package
// itself does not use it: see [Session.Service] and [Call.Service].
func WithService(number uint16) Option { return option(func(o *options) { o.service = number }) }

// WithSocketMode sets the permission bits of a server's socket file. A user needs write permission
// to connect. The default is 0600.
func WithSocketMode(mode uint32) ServerOption {
	return serverOption(func(o *options) { o.socketMode = mode })
}

// WithOffload sets how many handlers of a server run concurrently, 0 to 65536. The goroutine of a
// session runs handlers of methods whose handlers are quick, less than 50 µs on average, and others
// run in goroutines of their own. If a quick handler takes longer than usual, another goroutine
// reads the session after about a millisecond, so that a handler that blocks holds no other call.
// Handlers of one-way messages are the exception: while 1024 of a session run, or their messages
// reach its [WithCap] in bytes, the next one-way message waits, and the calls behind it. By
// default, 0, the goroutine of each session runs its handlers one after the other. A handler that
// blocks then delays the other calls of its session.
func WithOffload(handlers int) ServerOption {
	return serverOption(func(o *options) { o.offload = handlers })
}

// WithReplyTimeout sets how long a server's reply waits for room that its client must make before
// the call fails, and how long Close waits for the calls that are being served, 0 to 1 h. The
// default is 1 s. After a client's shutdown, without Offload, a reply waits for a ring entry or for
// the socket for as long as the client takes other replies.
func WithReplyTimeout(timeout time.Duration) ServerOption {
	return serverOption(func(o *options) { o.replyTimeout = timeout })
}

// WithTakeOver makes a server take over from a running one, so that it can be restarted without a
// failed call (docs/restarting.md). The server takes over the listening sockets of a server of the
// same user with this option, in Go or in Rust, or those from systemd (LISTEN_FDS), which any
// number of servers of this process may share. Without either, it creates its own. Once it serves,
// the predecessor accepts no more clients, asks its clients to go away, and serves them until they
// have moved or [WithDrainTimeout] has passed; then the predecessor's Serve returns. The default is
// false.
func WithTakeOver(takeOver bool) ServerOption {
	return serverOption(func(o *options) { o.takeOver = takeOver })
}

// WithAdminSocket sets the path of the unix socket that servers with [WithTakeOver] meet at; its
// permission bits are 0600. The default is the path of the first socket file of the addresses with
// .admin appended. The option is required if all addresses are of tcp: and tls:.
func WithAdminSocket(path string) ServerOption {
	return serverOption(func(o *options) { o.adminSocket = path })
}

// WithDrainTimeout sets how long a server with a successor serves clients that have not moved, 0 to
// 1 h. Then calls that were not begun fail as refused, which means that they never ran, and the
// sessions end. The default is 1 s. Shutdown uses its context instead.
func WithDrainTimeout(timeout time.Duration) ServerOption {
	return serverOption(func(o *options) { o.drainTimeout = timeout })
}

// WithAuthorize sets a function that decides from a client's credentials whether to serve it. The
// client receives the error as the reason. By default all clients are served.
func WithAuthorize(policy func(Peer) error) ServerOption {
	return serverOption(func(o *options) { o.authorize = policy })
}

// WithOnSessionStart sets a hook that a session's goroutine calls before it serves the first
// request.
func WithOnSessionStart(hook func(Peer)) ServerOption {
	return serverOption(func(o *options) { o.onStart = hook })
}

// WithOnSessionEnd sets a hook that is called after a session's last request was served. Its error
// is nil if either side ended the session in order.
func WithOnSessionEnd(hook func(Peer, error)) ServerOption {
	return serverOption(func(o *options) { o.onEnd = hook })
}

// WithStreamHandler sets the handler of the streams that clients open. By default they can open
// none.
func WithStreamHandler(handler StreamHandler) ServerOption {
	return serverOption(func(o *options) { o.streams = handler })
}

// WithLogger sets the logger that receives sessions that end with an error, panics of handlers, and
// errors of handlers of one-way messages. The default is slog.Default.
func WithLogger(logger *slog.Logger) ServerOption {
	return serverOption(func(o *options) { o.log = logger })
}

func dialOptions(list []DialOption) (*options, error) {
	o := defaults()
	for _, option := range list {
		option.applyToDial(&o)
	}
	return &o, o.validate()
}

func serverOptions(list []ServerOption) (*options, error) {
	o := defaults()
	for _, option := range list {
		option.applyToServer(&o)
	}
	return &o, o.validate()
}

func (o *options) validate() error {
	const largest = 1 << 40
	checks := []struct {
		allowed bool
		name    string
		value   any
		text    string
	}{
		{o.wait >= Adaptive && o.wait <= Park, "WithWaitPolicy", o.wait, "Adaptive, Busy or Park"},
		{o.ringCapacity&(o.ringCapacity-1) == 0 && o.ringCapacity >= proto.MinRing &&
			o.ringCapacity <= proto.MaxRing,
			"WithRingCapacity", o.ringCapacity, "a power of two in 8..=65536"},
		{o.cap >= 1 && o.cap <= largest, "WithCap", o.cap, "within 1 byte to 1 TiB"},
		{o.prefault <= largest, "WithPrefault", o.prefault, "within 0 bytes to 1 TiB"},
		{o.maxMemory <= 1<<63, "WithMaxMemory", o.maxMemory,
			"within 1 byte to 2^63 bytes, or 0 for any"},
		{o.memoryOfUser <= 1<<63, "WithMaxMemoryOfUser", o.memoryOfUser,
			"within 1 byte to 2^63 bytes, or 0 for any"},
		{o.waitForServer >= 0, "WithWaitForServer", o.waitForServer, "at least 0 s"},
		{o.returnToFirst >= 0, "WithReturnToFirst", o.returnToFirst,
			"at least 1 ns, or 0 for never"},
		{o.streamMessages >= 1 && o.streamBytes >= 1 && o.streamBytes < 1<<63, "WithStreamWindow",
			fmt.Sprint(o.streamMessages, " messages and ", o.streamBytes, " bytes"),
			"at least 1 of each, and less than 2^63 bytes"},
		{o.maxStreams >= 0 && o.maxStreams <= 65535, "WithMaxStreams", o.maxStreams,
			"within 0 to 65535"},
		{o.maxMetadata >= 0 && o.maxMetadata <= 65535, "WithMaxMetadata", o.maxMetadata,
			"within 0 to 65535 bytes"},
		{within(o.handshakeTimeout, 1, time.Hour), "WithHandshakeTimeout", o.handshakeTimeout,
			"within 1 ns to 1 h"},
		{o.callTimeout >= 0, "WithCallTimeout", o.callTimeout, "at least 1 ns, or 0 for any time"},
		{within(o.replyTimeout, 0, time.Hour), "WithReplyTimeout", o.replyTimeout,
			"within 0 s to 1 h"},
		{within(o.drainTimeout, 0, time.Hour), "WithDrainTimeout", o.drainTimeout,
			"within 0 s to 1 h"},
		{o.trusted <= largest, "WithTrustedPeer", o.trusted,
			"within 1 byte to 1 TiB, or 0 for no slices"},
		{o.maxSessions >= 1 && o.maxSessions <= 1_000_000, "WithMaxSessions", o.maxSessions,
			"in 1..=1000000"},
		{o.sessionsOfUser >= 0 && o.sessionsOfUser <= 1_000_000, "WithMaxSessionsOfUser",
			o.sessionsOfUser, "in 1..=1000000"},
		{o.socketMode <= 0o777, "WithSocketMode", fmt.Sprintf("%#o", o.socketMode),
			"in 0o000..=0o777"},
		{o.offload >= 0 && o.offload <= 65536, "WithOffload", o.offload, "in 0..=65536"},
	}
	for _, check := range checks {
		if !check.allowed {
			return fmt.Errorf("breezeway: option %s = %v is not %s", check.name, check.value,
				check.text)
		}
	}
	return nil
}

func within(value, least, most time.Duration) bool { return value >= least && value <= most }

func (o *options) hello(memory bool) *proto.Hello {
	return &proto.Hello{
		RingCapacity: o.ringCapacity, LendCount: lendCount, PayloadCap: proto.RoundUp(o.cap),
		Memory:         memory,
		StreamMessages: o.streamMessages, StreamBytes: o.streamBytes,
		MaxStreams:  uint16(o.maxStreams),
		MaxMetadata: uint32(o.maxMetadata), Service: o.service,
	}
}
