package breezeway

import (
	"crypto/tls"
	"fmt"
	"time"

	"github.com/breezeway-ipc/breezeway/go/internal/proto"
)

// A WaitPolicy says what a goroutine that owns a session does until something comes.
type WaitPolicy int

const (
	// Adaptive polls for a short, self-tuning time, then parks. It never polls where GOMAXPROCS is
	// 1.
	Adaptive WaitPolicy = iota
	// Busy polls without end, and yields to other goroutines now and then: lowest latency, one CPU
	// in full for as long as it waits.
	Busy
	// Park parks at once, in the runtime's network poller.
	Park
)

const lendCount = 512

type options struct {
	wait             WaitPolicy
	spinBound        time.Duration
	cap              uint64
	firstSegment     uint64
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
}

func defaults() options {
	return options{
		spinBound: 100 * time.Microsecond, cap: 64 << 20, firstSegment: 64 << 10,
		shrinkAfter: time.Second, ringCapacity: 256, handshakeTimeout: time.Second,
		streamMessages: 64, streamBytes: 1 << 20, maxStreams: 1024, maxMetadata: 16 << 10,
		maxSessions: 4096, socketMode: 0o600, replyTimeout: time.Second,
		drainTimeout: time.Second,
		authorize:    func(Peer) error { return nil },
	}
}

// An Option sets something of a session or a server. Options of servers are ignored by clients.
// Both sides have their own; of limits, the smaller value counts. Values are checked when they are
// used.
type Option func(*options)

// Wait says how this side waits. Default Adaptive.
func Wait(policy WaitPolicy) Option { return func(o *options) { o.wait = policy } }

// SpinBound is the longest that Adaptive polls, 0 to 1 s. Default 100 µs.
func SpinBound(longest time.Duration) Option { return func(o *options) { o.spinBound = longest } }

// Cap is the most payload memory per direction, and so the largest message: 1 byte to 1 TiB,
// rounded up to whole pages; on a socket less than 4 GiB count. Memory is taken as messages need
// it. Default 64 MiB.
func Cap(bytes uint64) Option { return func(o *options) { o.cap = bytes } }

// FirstSegment is the size of the first payload segment, unless a message asks for more: 1 byte to
// 1 TiB. Default 64 KiB.
func FirstSegment(bytes uint64) Option { return func(o *options) { o.firstSegment = bytes } }

// Prefault is payload memory that this side has ready when a session is set up, instead of when the
// first message over 104 bytes needs it: up to 1 TiB, at least FirstSegment; the cap counts if it
// is less. It is made after the hellos, in no time-out. Each client that connects costs a server
// that much memory, asked or not; MaxMemory counts it. A session without traffic keeps it. Where
// memory is short the session comes about all the same. On a socket it does nothing. Default 0:
// none.
func Prefault(bytes uint64) Option { return func(o *options) { o.prefault = bytes } }

// ShrinkAfter is how long traffic must do without a payload segment before its memory is given
// back, 0 to 1 h. There are no timers: a session that rests keeps what it has. Default 1 s.
func ShrinkAfter(after time.Duration) Option { return func(o *options) { o.shrinkAfter = after } }

// UnderWay is how many bytes of one-way messages may be under way in shared memory before the next
// one waits for the server: 1 byte to 1 TiB; as much as the cap sets no bound. What is written far
// ahead is in no cache when it is read. One message may always be under way, those below 16 KiB
// never wait, and nothing waits longer than some milliseconds for a server that keeps what it was
// sent. Default 0: a quarter of a CPU's last cache.
func UnderWay(bytes uint64) Option { return func(o *options) { o.underWay = bytes } }

// RingCapacity is the number of entries in this side's ring: a power of two, 8 to 65536. Half of
// the smaller one of both sides is the most calls in flight. A server takes the client's value up
// to 1024. Default 256.
func RingCapacity(entries uint32) Option { return func(o *options) { o.ringCapacity = entries } }

// HandshakeTimeout is how long connecting, also to a server whose backlog is full, and the other
// side's hello, may each take, up to 1 h. Default 1 s.
func HandshakeTimeout(timeout time.Duration) Option {
	return func(o *options) { o.handshakeTimeout = timeout }
}

// CallTimeout is how long each call may take, beside what its context says. Default 0: any time.
func CallTimeout(timeout time.Duration) Option {
	return func(o *options) { o.callTimeout = timeout }
}

// StreamWindow is what the other side may send on each stream before this side has taken some of
// it: at least 1 message and 1 byte. A message may start while both are left, so one that is larger
// passes alone. Default 64 messages and 1 MiB.
func StreamWindow(messages uint32, bytes uint64) Option {
	return func(o *options) { o.streamMessages, o.streamBytes = messages, bytes }
}

// MaxStreams is how many streams the other side may have open at one time, 0 to 65535. Default
// 1024; a server without a stream handler takes none.
func MaxStreams(streams int) Option { return func(o *options) { o.maxStreams = streams } }

// MaxMetadata is the longest metadata block that this side takes, 0 to 65535 bytes. Default 16 KiB.
func MaxMetadata(bytes int) Option { return func(o *options) { o.maxMetadata = bytes } }

// TrustPeer lets Message.Slice hand out slices of the other side's memory: it is trusted not to
// write what it has lent, which nothing prevents. A segment of which a slice was handed out is
// never unmapped while this process lives; they may take so many bytes in sum, of all sessions, 1
// byte to 1 TiB. Default 0: no slices.
func TrustPeer(most uint64) Option { return func(o *options) { o.trusted = most } }

// Certificate is this side's over tls:, which a server needs and a client shows to one that asks: a
// PEM file with it first, and then those between it and a root, and one with its private key. Files
// are read by Listen, and by each Dial.
func Certificate(chain, key string) Option {
	return func(o *options) { o.chain, o.key = chain, key }
}

// Roots is a PEM file with certificates of authorities, one of which must have issued the other
// side's over tls:. A client needs it; a server with it serves only clients with a certificate
// (mutual TLS).
func Roots(file string) Option { return func(o *options) { o.roots = file } }

// TLSConfig is for certificates over tls: that are no files: a client needs RootCAs, a server
// Certificates or GetCertificate. Version, protocol and resumption are Breezeway's, and the name
// that the server's certificate must be for is the address's host, unless ServerName is set.
// Certificate and Roots set what is theirs in it. GetConfigForClient and InsecureSkipVerify are
// refused: with either, nobody would judge the other side's certificate by this config.
func TLSConfig(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// MaxSessions is the most sessions of a server at one time, 1 to 1000000; one more is refused with
// the reason. Clients whose hello is not complete do not count: of those there are 1024 at most, or
// a quarter of the descriptors that the process may have, and one more ends the oldest of the user,
// or over tcp and tls of the host, that has the most. Default 4096.
func MaxSessions(count int) Option { return func(o *options) { o.maxSessions = count } }

// MaxSessionsOfUser is the most sessions of one user at one time, 1 to 1000000, so that one user's
// programs leave room for others'; one more is refused with the reason. All users that are not
// known here count as one; over tcp and tls, where nobody is known, there is no such limit. By
// default only MaxSessions counts.
func MaxSessionsOfUser(count int) Option { return func(o *options) { o.sessionsOfUser = count } }

// MaxMemory is the most bytes of shared memory that clients may hold of what this server makes:
// control segments and what replies lie in, also those of sessions that have ended, until
// no process has them any more. Beyond it a client is refused with the reason, and a reply that
// would need more fails. What clients make, requests lie in, and is theirs. Default 0: there is
// no limit, and nothing is counted. Counting takes an instance of inotify for the server and a
// watch for each segment (fs.inotify.max_user_instances and max_user_watches): what cannot be
// counted is not made.
func MaxMemory(bytes uint64) Option { return func(o *options) { o.maxMemory = bytes } }

// MaxMemoryOfUser is MaxMemory for the clients of each user, so that one user's programs leave room
// for others'. All users that are not known here count as one. Default 0: there is no limit.
func MaxMemoryOfUser(bytes uint64) Option { return func(o *options) { o.memoryOfUser = bytes } }

func (o *options) limitsMemory() bool { return o.maxMemory > 0 || o.memoryOfUser > 0 }

// WaitForServer is how long a call of a Client, and Dial of a NetDialer, wait for a server that is
// not there, up to what their contexts allow: they try again after pauses that grow from 1 ms to
// 200 ms, each cut by a random part of up to half, so that clients of a server that comes back do
// not come all at once. Default 0: they fail at once.
func WaitForServer(time time.Duration) Option {
	return func(o *options) { o.waitForServer = time }
}

// ReturnToFirst is, of several addresses, how often a Client or a NetDialer whose session is at
// another one tries the first again, while it is used. Default 0: it stays where it is until the
// session ends.
func ReturnToFirst(every time.Duration) Option {
	return func(o *options) { o.returnToFirst = every }
}

// ForeignProtocol has a NetListener also accept clients of another protocol, which do not speak
// Breezeway: those whose first eight bytes are not those of a hello, and over tls those that name
// the protocol by ALPN. Their connections are given to Accept as they are. Until these bytes have
// come, the limits of a handshake hold; Authorize and MaxSessions hold as for sessions. By default
// such clients are refused.
func ForeignProtocol(alpn string) Option { return func(o *options) { o.foreign = alpn } }

// Service is what this side's messages mean, as the hello says it: 0, the default, whatever both
// sides agree on, 1 Breezeway RPC, 2 gRPC. Nothing here acts on it: see Conn.Service and
// Call.Service.
func Service(number uint16) Option { return func(o *options) { o.service = number } }

// SocketMode is the permission bits of a server's socket file: who may write it may connect.
// Default 0600.
func SocketMode(mode uint32) Option { return func(o *options) { o.socketMode = mode } }

// Offload is how many handlers of a server run at one time in goroutines of their own, 0 to 65536.
// Default 0: the goroutine of each session runs them, one after the other, which is the fastest,
// but a handler that blocks holds up the other calls of its session.
func Offload(handlers int) Option { return func(o *options) { o.offload = handlers } }

// ReplyTimeout is how long a server's reply waits for room that its client has to make before the
// call fails, and how long Close waits for the calls that are being served, 0 to 1 h. Default 1 s.
// Behind its client's shutdown, a reply waits for a slot or a socket while the client takes others.
func ReplyTimeout(timeout time.Duration) Option {
	return func(o *options) { o.replyTimeout = timeout }
}

// TakeOver lets servers be restarted without a failed call (docs/restarting.md): one with it takes
// the listening sockets over from a server of the same user that has it as well, in Go or in Rust,
// or from systemd (LISTEN_FDS), whose sockets any number of servers of this process may have, and
// listens anew where there is neither. Once it serves, the predecessor accepts nobody any more,
// tells its clients to go away, and serves them until they have moved, or DrainTimeout is over;
// then its Serve returns. Default false.
func TakeOver(takeOver bool) Option { return func(o *options) { o.takeOver = takeOver } }

// AdminSocket is where servers that take over meet: a unix socket with the permission bits 0600. By
// default it is beside the first socket file of the addresses, whose name it has with .admin behind
// it. Addresses of tcp: and tls: alone have no such file, and need this.
func AdminSocket(path string) Option { return func(o *options) { o.adminSocket = path } }

// DrainTimeout is how long a server that was succeeded serves clients that have not moved, 0 to 1
// h. Then calls that were not begun fail as refused, which means that they never ran, and the
// sessions end. Default 1 s. (Shutdown has its context.)
func DrainTimeout(timeout time.Duration) Option {
	return func(o *options) { o.drainTimeout = timeout }
}

// Authorize decides from its credentials whether a client that could connect is served; an error is
// the reason that the client gets. By default all are served.
func Authorize(policy func(Peer) error) Option { return func(o *options) { o.authorize = policy } }

// OnSessionStart is called before a session's first request is served, by its goroutine.
func OnSessionStart(hook func(Peer)) Option { return func(o *options) { o.onStart = hook } }

// OnSessionEnd is called after a session's last request was served: without an error if either side
// ended it in order.
func OnSessionEnd(hook func(Peer, error)) Option { return func(o *options) { o.onEnd = hook } }

func newOptions(list []Option) (*options, error) {
	o := defaults()
	for _, option := range list {
		option(&o)
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
		{o.wait >= Adaptive && o.wait <= Park, "Wait", o.wait, "Adaptive, Busy or Park"},
		{o.ringCapacity&(o.ringCapacity-1) == 0 && o.ringCapacity >= proto.MinRing &&
			o.ringCapacity <= proto.MaxRing,
			"RingCapacity", o.ringCapacity, "a power of two in 8..=65536"},
		{o.cap >= 1 && o.cap <= largest, "Cap", o.cap, "within 1 byte to 1 TiB"},
		{o.firstSegment >= 1 && o.firstSegment <= largest, "FirstSegment", o.firstSegment,
			"within 1 byte to 1 TiB"},
		{o.prefault <= largest, "Prefault", o.prefault, "within 0 bytes to 1 TiB"},
		{o.underWay <= largest, "UnderWay", o.underWay,
			"within 1 byte to 1 TiB, or 0 for a quarter of the cache"},
		{o.maxMemory <= 1<<63, "MaxMemory", o.maxMemory,
			"within 1 byte to 2^63 bytes, or 0 for any"},
		{o.memoryOfUser <= 1<<63, "MaxMemoryOfUser", o.memoryOfUser,
			"within 1 byte to 2^63 bytes, or 0 for any"},
		{o.waitForServer >= 0, "WaitForServer", o.waitForServer, "at least 0 s"},
		{o.returnToFirst >= 0, "ReturnToFirst", o.returnToFirst, "at least 1 ns, or 0 for never"},
		{o.streamMessages >= 1 && o.streamBytes >= 1 && o.streamBytes < 1<<63, "StreamWindow",
			fmt.Sprint(o.streamMessages, " messages and ", o.streamBytes, " bytes"),
			"at least 1 of each, and less than 2^63 bytes"},
		{o.maxStreams >= 0 && o.maxStreams <= 65535, "MaxStreams", o.maxStreams,
			"within 0 to 65535"},
		{o.maxMetadata >= 0 && o.maxMetadata <= 65535, "MaxMetadata", o.maxMetadata,
			"within 0 to 65535 bytes"},
		{within(o.spinBound, 0, time.Second), "SpinBound", o.spinBound, "within 0 s to 1 s"},
		{within(o.shrinkAfter, 0, time.Hour), "ShrinkAfter", o.shrinkAfter, "within 0 s to 1 h"},
		{within(o.handshakeTimeout, 1, time.Hour), "HandshakeTimeout", o.handshakeTimeout,
			"within 1 ns to 1 h"},
		{o.callTimeout >= 0, "CallTimeout", o.callTimeout, "at least 1 ns, or 0 for any time"},
		{within(o.replyTimeout, 0, time.Hour), "ReplyTimeout", o.replyTimeout, "within 0 s to 1 h"},
		{within(o.drainTimeout, 0, time.Hour), "DrainTimeout", o.drainTimeout, "within 0 s to 1 h"},
		{o.trusted <= largest, "TrustPeer", o.trusted,
			"within 1 byte to 1 TiB, or 0 for no slices"},
		{o.maxSessions >= 1 && o.maxSessions <= 1_000_000, "MaxSessions", o.maxSessions,
			"in 1..=1000000"},
		{o.sessionsOfUser >= 0 && o.sessionsOfUser <= 1_000_000, "MaxSessionsOfUser",
			o.sessionsOfUser, "in 1..=1000000"},
		{o.socketMode <= 0o777, "SocketMode", fmt.Sprintf("%#o", o.socketMode), "in 0o000..=0o777"},
		{o.offload >= 0 && o.offload <= 65536, "Offload", o.offload, "in 0..=65536"},
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
