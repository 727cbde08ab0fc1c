//! Options of a server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::{MemoryLimits, Peer};

use super::SessionOptions;
use crate::error::{OptionError, SessionError};
use crate::foreign::{ForeignConnection, ForeignProtocol};
use crate::presence::{Hooks, SessionId};

/// Policy that decides by a client's credentials if the client is served; an error is the reason
/// that the client receives.
pub(crate) type Policy = Arc<dyn Fn(&Peer) -> Result<(), String> + Send + Sync>;

/// Options of a server.
///
/// ```
/// use breezeway::{ServerOptions, SessionOptions};
///
/// let session = SessionOptions::new().cap(1 << 20);
/// let options = ServerOptions::new().workers(2).max_sessions(100).session(session);
/// assert!(options.validate().is_ok());
/// let error = options.workers(0).validate().unwrap_err();
/// assert_eq!(error.to_string(), "workers = 0 is not in 1..=1024");
/// ```
#[derive(Clone)]
pub struct ServerOptions {
    pub(crate) session: SessionOptions,
    pub(crate) workers: usize,
    pub(crate) max_sessions: usize,
    pub(crate) max_sessions_of_user: Option<usize>,
    pub(crate) memory: MemoryLimits,
    pub(crate) max_calls_in_flight: usize,
    pub(crate) socket_mode: u32,
    pub(crate) authorize: Policy,
    pub(crate) hooks: Hooks,
    pub(crate) foreign: Option<ForeignProtocol>,
    pub(crate) offload: usize,
    pub(crate) stream_threads: usize,
    pub(crate) reply_timeout: Duration,
    pub(crate) drain_timeout: Duration,
    pub(crate) take_over: bool,
    pub(crate) admin_socket: Option<PathBuf>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            session: SessionOptions::new(),
            workers: 1,
            max_sessions: 4096,
            max_sessions_of_user: None,
            memory: MemoryLimits::default(),
            max_calls_in_flight: 65_536,
            socket_mode: 0o600,
            authorize: Arc::new(|_| Ok(())),
            hooks: Hooks::default(),
            foreign: None,
            offload: 0,
            stream_threads: 512,
            reply_timeout: Duration::from_secs(1),
            drain_timeout: Duration::from_secs(1),
            take_over: false,
            admin_socket: None,
        }
    }
}

impl ServerOptions {
    /// Creates options with the default values: one worker, 4096 sessions, a socket that only its
    /// owner may connect to, default session options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the options of each session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// Sets the number of workers, 1..=1024. Each session belongs to one worker; a new session is
    /// given to the worker that was the least busy in the last milliseconds. Default 1.
    pub fn workers(mut self, count: usize) -> Self {
        self.workers = count;
        self
    }

    /// Sets the number of threads that run handlers, 0..=1024, in addition to the workers, which
    /// then only move messages: a slow handler delays neither other sessions nor, while a thread is
    /// free, other calls. Sessions take turns, call by call. Calls of one session begin in the
    /// order in which they were made, but their replies, and the effects of one-way messages, may
    /// come in any order. Each call takes two more hand-overs between threads. Default 0: workers
    /// run handlers themselves.
    pub fn offload(mut self, threads: usize) -> Self {
        self.offload = threads;
        self
    }

    /// Sets the permission bits of the socket file, up to `0o777`: users with write permission may
    /// connect. Default `0o600`.
    pub fn socket_mode(mut self, mode: u32) -> Self {
        self.socket_mode = mode;
        self
    }

    /// Sets the policy that decides by a client's credentials if a client that could connect is
    /// served; an error is the reason that the client receives. By default all are served.
    pub fn authorize(
        mut self,
        policy: impl Fn(&Peer) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.authorize = Arc::new(policy);
        self
    }

    /// Lets servers be restarted without a failed call. A server bound with this option takes the
    /// listening sockets over from a server of the same user that was also bound with it, or from
    /// systemd (`LISTEN_FDS`), whose sockets any number of servers of this process may have;
    /// without either it creates sockets. Once it serves, the predecessor accepts no more clients,
    /// asks its clients to go away, and serves them until they have moved, or its
    /// [`drain_timeout`](Self::drain_timeout) is over; then its `serve` returns. Default false.
    ///
    /// Both servers meet at the [admin socket](Self::admin_socket). With a predecessor, the first
    /// turn of the server that takes over waits for its confirmation, for milliseconds; if the
    /// predecessor hangs, it fails after 5 s.
    pub fn take_over(mut self, take_over: bool) -> Self {
        self.take_over = take_over;
        self
    }

    /// Sets the path where servers that [take over](Self::take_over) meet: a unix socket with the
    /// permission bits `0o600`. The default is the path of the address's first socket file with
    /// `.admin` appended. An address of `tcp:` places alone has no such file, and needs this
    /// option.
    pub fn admin_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.admin_socket = Some(path.into());
        self
    }

    /// Sets the time that a stopped server spends on earlier requests: it serves those that have
    /// arrived, waits for deferred calls, and lets clients take their replies, 0 s to 1 h. Default
    /// 1 s. A running handler is not interrupted, so it may take longer.
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// Sets a function that is called before a session's first request is served, for example to
    /// create data that belongs to the session. Calls and streams return the session's id
    /// ([`Call::session`](crate::Call::session), [`Stream::session`](crate::Stream::session)). A
    /// worker calls it, and serves no session until it returns; with a
    /// [`SessionListener`](crate::SessionListener), and so under tokio, the thread or task that
    /// accepts calls it, and accepts no client until it returns.
    pub fn on_session_start(
        mut self,
        hook: impl Fn(SessionId, &Peer) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.on_start = Some(Arc::new(hook));
        self
    }

    /// Sets a function that is called once for each session whose start was reported, after its
    /// last request was taken and the session closed: without an error if either side ended it in
    /// order. Handlers that run elsewhere may not have ended yet: those of deferred calls, of
    /// streams, and under tokio those that wait. A worker calls it; with a
    /// [`SessionListener`](crate::SessionListener), and so under tokio, the thread or task that
    /// drops the session's [`Driver`](crate::Driver).
    pub fn on_session_end(
        mut self,
        hook: impl Fn(SessionId, Option<&SessionError>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.on_end = Some(Arc::new(hook));
        self
    }

    /// Sets the handler of clients of another protocol: those whose first eight bytes are not those
    /// of Breezeway. Until these bytes have arrived, the limits of a handshake apply, such as its
    /// time-out; the policy and [`Self::max_sessions`] apply as for sessions. By default such
    /// clients are refused.
    ///
    /// A client that has sent nothing stays connected past that time-out, which then starts with
    /// its first byte: it may have connected ahead of its first call. It counts against the limit
    /// on incomplete hellos, and is pushed out before the other clients of its user.
    ///
    /// The thread that accepts clients calls `handler`, which therefore starts a thread or a task
    /// and returns. A connection that it drops is closed.
    ///
    /// ```
    /// use std::io::Write;
    ///
    /// use breezeway::{ForeignConnection, ServerOptions};
    ///
    /// let options = ServerOptions::new().on_foreign_connection(|mut connection| {
    ///     if connection.first_bytes().starts_with(b"GET ") {
    ///         std::thread::spawn(move || connection.write_all(b"HTTP/1.1 204\r\n\r\n"));
    ///     }
    /// });
    /// ```
    pub fn on_foreign_connection(
        mut self,
        handler: impl Fn(ForeignConnection) + Send + Sync + 'static,
    ) -> Self {
        self.foreign = Some(ForeignProtocol::new(handler));
        self
    }

    /// Sets the limit on sessions, 1..=1000000; a further client is refused with the reason.
    /// Connections of [another protocol](Self::on_foreign_connection) count as sessions. Default
    /// 4096.
    pub fn max_sessions(mut self, count: usize) -> Self {
        self.max_sessions = count;
        self
    }

    /// Sets the limit on sessions of one user, 1..=1000000, so that one user's programs leave room
    /// for others'; a further client is refused with the reason. All users that are unknown here
    /// (of another user namespace) count as one; over TCP, where the user is unknown, this limit
    /// does not apply. By default only [`Self::max_sessions`] counts.
    pub fn max_sessions_of_user(mut self, count: usize) -> Self {
        self.max_sessions_of_user = Some(count);
        self
    }

    /// Sets the limit on bytes of shared memory of this server that clients may hold, 1 to 2⁶³:
    /// control segments and the memory of replies, also those of sessions that have ended, until no
    /// process maps them any more. Beyond the limit a client is refused with the reason, and a
    /// reply that would need more memory fails, or waits as for any other memory. Segments created
    /// by clients, which hold requests, are charged to the clients.
    ///
    /// By default there is no limit, and nothing is counted. Counting takes an inotify instance for
    /// the server and a watch for each segment (`fs.inotify.max_user_instances` and
    /// `max_user_watches`): a segment that cannot be counted is not created.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.memory.total = Some(bytes);
        self
    }

    /// Sets the same limit for the clients of each user, so that one user's programs leave room for
    /// others'. All users that are unknown here count as one. By default there is no limit.
    pub fn max_memory_of_user(mut self, bytes: u64) -> Self {
        self.memory.of_user = Some(bytes);
        self
    }

    /// Sets the limit on calls in flight of all sessions, 1 to 2²⁴: those that were begun and are
    /// replied to later, as they were [deferred](crate::Call::defer) or [offloaded](Self::offload)
    /// or are awaited. A further call is refused with [`ErrorCode::Overloaded`](crate::ErrorCode)
    /// and the reason, and never runs. (One-way messages are not refused, and each thread may
    /// exceed the limit by one call. Streams are not counted, and so calls of gRPC are not.)
    /// Default 65,536.
    pub fn max_calls_in_flight(mut self, calls: usize) -> Self {
        self.max_calls_in_flight = calls;
        self
    }

    /// Sets the number of threads that serve streams, 1..=65536, if the server has [a stream
    /// handler](crate::Server::on_stream): one per stream. They are started when they are needed. A
    /// client (a process, or a host over TCP) gets a further thread while it has fewer than are
    /// left, so a single client gets half of them, which also bounds the stream limit in the hello
    /// of each of its sessions ([`SessionOptions::max_streams`]). Default 512.
    pub fn stream_threads(mut self, threads: usize) -> Self {
        self.stream_threads = threads;
        self
    }

    /// Sets the time that a reply waits for payload memory, which its client has to release, before
    /// the call fails, 0 s to 1 h; shorter if the client's own timeout is shorter. Default 1 s. (A
    /// reply that finds no room in the ring or the socket waits as long as its caller does.)
    pub fn reply_timeout(mut self, timeout: Duration) -> Self {
        self.reply_timeout = timeout;
        self
    }

    /// Returns the options of each session, as set by [`Self::session`].
    pub fn session_options(&self) -> &SessionOptions {
        &self.session
    }

    /// Checks that all values are in their ranges.
    pub fn validate(&self) -> Result<(), OptionError> {
        self.session.validate()?;
        OptionError::check("workers", self.workers, 1..=1024, "in 1..=1024")?;
        OptionError::check("max_sessions", self.max_sessions, 1..=1_000_000, "in 1..=1000000")?;
        let of_user = self.max_sessions_of_user.unwrap_or(1);
        OptionError::check("max_sessions_of_user", of_user, 1..=1_000_000, "in 1..=1000000")?;
        for (option, bytes) in
            [("max_memory", self.memory.total), ("max_memory_of_user", self.memory.of_user)]
        {
            let bytes = bytes.unwrap_or(1);
            OptionError::check(option, bytes, 1..=1 << 63, "within 1 byte to 2^63 bytes")?;
        }
        let (calls, allowed) = (self.max_calls_in_flight, "in 1..=16777216");
        OptionError::check("max_calls_in_flight", calls, 1..=1 << 24, allowed)?;
        OptionError::check("offload", self.offload, 0..=1024, "in 0..=1024")?;
        let (threads, allowed) = (self.stream_threads, "in 1..=65536");
        OptionError::check("stream_threads", threads, 1..=65536, allowed)?;
        check_timeout("reply_timeout", self.reply_timeout)?;
        check_timeout("drain_timeout", self.drain_timeout)?;
        let mode = format_args!("{:#o}", self.socket_mode).to_string();
        let allowed = "in 0o000..=0o777";
        OptionError::check_that(self.socket_mode <= 0o777, "socket_mode", mode, allowed)
    }
}

fn check_timeout(name: &'static str, timeout: Duration) -> Result<(), OptionError> {
    let is_allowed = timeout <= Duration::from_secs(3600);
    OptionError::check_that(is_allowed, name, format!("{timeout:?}"), "within 0 s to 1 h")
}

impl std::fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerOptions")
            .field("session", &self.session)
            .field("workers", &self.workers)
            .field("offload", &self.offload)
            .field("stream_threads", &self.stream_threads)
            .field("reply_timeout", &self.reply_timeout)
            .field("drain_timeout", &self.drain_timeout)
            .field("max_sessions", &self.max_sessions)
            .field("max_sessions_of_user", &self.max_sessions_of_user)
            .field("memory", &self.memory)
            .field("max_calls_in_flight", &self.max_calls_in_flight)
            .field("socket_mode", &self.socket_mode)
            .field("take_over", &self.take_over)
            .field("admin_socket", &self.admin_socket)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_and_the_ends_of_every_range_are_allowed() {
        let options = ServerOptions::new;
        for options in [
            options(),
            options().workers(1024),
            options().max_sessions(1),
            options().offload(0),
            options().offload(1024),
            options().stream_threads(1),
            options().stream_threads(65536),
            options().reply_timeout(Duration::ZERO),
            options().reply_timeout(Duration::from_secs(3600)),
            options().drain_timeout(Duration::ZERO),
            options().drain_timeout(Duration::from_secs(3600)),
            options().max_sessions(1_000_000),
            options().socket_mode(0),
            options().socket_mode(0o777),
        ] {
            assert_eq!(options.validate(), Ok(()), "{options:?}");
        }
    }

    #[test]
    fn out_of_range_values_are_refused_by_name_and_range() {
        let options = ServerOptions::new;
        for (options, expected) in [
            (options().workers(0), "workers = 0 is not in 1..=1024"),
            (options().workers(1025), "workers = 1025 is not in 1..=1024"),
            (options().offload(1025), "offload = 1025 is not in 0..=1024"),
            (options().max_memory(0), "max_memory = 0 is not within 1 byte to 2^63 bytes"),
            (
                options().max_memory_of_user(0),
                "max_memory_of_user = 0 is not within 1 byte to 2^63 bytes",
            ),
            (options().max_calls_in_flight(0), "max_calls_in_flight = 0 is not in 1..=16777216"),
            (options().stream_threads(0), "stream_threads = 0 is not in 1..=65536"),
            (options().stream_threads(65537), "stream_threads = 65537 is not in 1..=65536"),
            (
                options().reply_timeout(Duration::from_secs(3601)),
                "reply_timeout = 3601s is not within 0 s to 1 h",
            ),
            (
                options().drain_timeout(Duration::from_millis(3_600_001)),
                "drain_timeout = 3600.001s is not within 0 s to 1 h",
            ),
            (options().max_sessions(0), "max_sessions = 0 is not in 1..=1000000"),
            (options().max_sessions_of_user(0), "max_sessions_of_user = 0 is not in 1..=1000000"),
            (options().max_sessions(1_000_001), "max_sessions = 1000001 is not in 1..=1000000"),
            (options().socket_mode(0o1000), "socket_mode = 0o1000 is not in 0o000..=0o777"),
            (
                options().session(SessionOptions::new().cap(0)),
                "cap = 0 is not within 1 byte to 1 TiB",
            ),
        ] {
            let error = options.validate().unwrap_err().to_string();
            assert_eq!(error, expected);
        }
    }
}
