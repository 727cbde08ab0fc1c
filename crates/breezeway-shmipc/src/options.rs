//! The settings of clients, servers and sessions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use breezeway_os::{Peer, WaitPolicy};

/// Whom a server or client trusts with memory that both write.
///
/// shmipc has no protection between its two sides: a peer that breaks the rules can make this side
/// see wrong bytes, run out of slices, or lose the session. It cannot make this process crash or
/// touch memory outside the session's regions. Say here who may connect at all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// Processes of the same user id, and of root. Needs a unix socket.
    SameUser,
    /// Processes of these user ids. Needs a unix socket.
    Users(Vec<u32>),
    /// Whoever can open the socket. The only possibility over TCP.
    Anybody,
}

impl Trust {
    /// Whether a peer with these credentials is trusted; without credentials only with
    /// [`Self::Anybody`].
    pub fn covers(&self, peer: Option<&Peer>) -> bool {
        match self {
            Self::Anybody => true,
            Self::SameUser => peer.is_some_and(|peer| peer.is_same_user() || peer.uid == Some(0)),
            Self::Users(users) => {
                peer.and_then(|peer| peer.uid).is_some_and(|uid| users.contains(&uid))
            }
        }
    }
}

/// What to do when the queue is full: the peer has not taken what was sent before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Wait, receiving meanwhile, until there is room or the timeout passes.
    #[default]
    Wait,
    /// Fail with [`StreamError::QueueFull`](crate::StreamError::QueueFull); what was to be sent
    /// stays with the caller.
    Fail,
}

/// What to do when the shared memory is exhausted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenExhausted {
    /// Wait a moment, then send over the socket, as upstream does. From then on all of the stream
    /// goes over the socket.
    #[default]
    UseSocket,
    /// Wait, receiving meanwhile, until there is memory or the timeout passes.
    Wait,
    /// Fail with [`StreamError::MemoryExhausted`](crate::StreamError::MemoryExhausted).
    Fail,
}

/// Settings of a session, on either side.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    pub(crate) wait: WaitPolicy,
    pub(crate) when_full: WhenFull,
    pub(crate) when_exhausted: WhenExhausted,
    pub(crate) patience: Duration,
    pub(crate) max_streams: usize,
    pub(crate) fallback_limit: usize,
    pub(crate) handshake_timeout: Duration,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            wait: WaitPolicy::Adaptive,
            when_full: WhenFull::Wait,
            when_exhausted: WhenExhausted::UseSocket,
            patience: Duration::from_millis(2),
            max_streams: 65_536,
            fallback_limit: 64 << 20,
            handshake_timeout: Duration::from_secs(1),
        }
    }
}

impl SessionOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How this side waits. Default [`WaitPolicy::Adaptive`]. Tasks under [`WaitPolicy::Busy`] look
    /// for 100 µs in every wait and then sleep, since their runtime has to read the socket.
    pub fn wait(mut self, policy: WaitPolicy) -> Self {
        self.wait = policy;
        self
    }

    /// What to do when the queue is full. Default: wait.
    pub fn when_full(mut self, choice: WhenFull) -> Self {
        self.when_full = choice;
        self
    }

    /// What to do when the shared memory is exhausted. Default: wait for [`Self::patience`], then
    /// use the socket.
    pub fn when_exhausted(mut self, choice: WhenExhausted) -> Self {
        self.when_exhausted = choice;
        self
    }

    /// How long to wait for shared memory before the socket is used. Default 2 ms.
    pub fn patience(mut self, duration: Duration) -> Self {
        self.patience = duration;
        self
    }

    /// The most streams of a session. A peer's stream beyond that is closed at once. Default 65536.
    pub fn max_streams(mut self, count: usize) -> Self {
        self.max_streams = count;
        self
    }

    /// The most bytes that came over the socket and were not yet read. Beyond that the socket is
    /// not read, which makes the peer wait, and ends of streams as well, since the socket may hold
    /// bytes that were sent before them. Default 64 MiB.
    pub fn fallback_limit(mut self, bytes: usize) -> Self {
        self.fallback_limit = bytes.max(1);
        self
    }

    /// How long the peer may take for the handshake. Default 1 s.
    pub fn handshake_timeout(mut self, duration: Duration) -> Self {
        self.handshake_timeout = duration;
        self
    }
}

/// Where a client's regions live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// In memfds, handed over the unix socket: protocol version 3. No name, nothing to clean up.
    Memfd,
    /// In files whose paths start so, for a server that knows files only, or over TCP: protocol
    /// version 2. They are removed as soon as the server is known to have them, at the latest with
    /// the session.
    FilesV2(PathBuf),
    /// As [`Self::FilesV2`], with the acknowledgements of version 3. shmipc-go and shmipc-rs accept
    /// it, though their clients never ask for it.
    FilesV3(PathBuf),
}

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub(crate) session: SessionOptions,
    pub(crate) memory: Memory,
    pub(crate) trust: Trust,
    pub(crate) sessions: usize,
    pub(crate) queue_capacity: u32,
    pub(crate) buffer_size: u32,
    pub(crate) slices: Vec<(u32, u32)>,
    pub(crate) connect_timeout: Duration,
    pub(crate) back_off: (Duration, Duration),
}

impl ClientOptions {
    /// The defaults, for a server that is trusted so far.
    pub fn new(trust: Trust) -> Self {
        Self {
            session: SessionOptions::default(),
            memory: Memory::Memfd,
            trust,
            sessions: 1,
            queue_capacity: 8192,
            buffer_size: 32 << 20,
            slices: vec![(8172, 50), (32_748, 30), (131_052, 20)],
            connect_timeout: Duration::from_secs(5),
            back_off: (Duration::from_millis(10), Duration::from_secs(2)),
        }
    }

    /// Settings of each session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// Where the regions live. Default [`Memory::Memfd`].
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// How many sessions (sockets, queues, regions) the streams are spread over. Default 1.
    pub fn sessions(mut self, count: usize) -> Self {
        self.sessions = count.max(1);
        self
    }

    /// Elements of the queue in each direction. Default 8192. A multiple of 8, as aarch64 demands.
    pub fn queue_capacity(mut self, elements: u32) -> Self {
        self.queue_capacity = elements;
        self
    }

    /// Bytes of the buffer region of each session. Default 32 MiB, at least 1 MiB, less than 4 GiB.
    pub fn buffer_size(mut self, bytes: u32) -> Self {
        self.buffer_size = bytes;
        self
    }

    /// Kinds of slices: payload bytes of each, a multiple of 4, and the percentage of the region
    /// for them. Default upstream's: 8172 for 50 %, 32748 for 30 %, 131052 for 20 %.
    pub fn slices(mut self, classes: impl Into<Vec<(u32, u32)>>) -> Self {
        self.slices = classes.into();
        self
    }

    /// How long opening a stream waits for a session. Default 5 s.
    pub fn connect_timeout(mut self, duration: Duration) -> Self {
        self.connect_timeout = duration;
        self
    }

    /// The pause before a lost session is tried again: the first, and the longest after doubling.
    /// Default 10 ms and 2 s.
    pub fn back_off(mut self, first: Duration, longest: Duration) -> Self {
        self.back_off = (first, longest.max(first));
        self
    }
}

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub(crate) session: SessionOptions,
    pub(crate) trust: Trust,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) remove_files: bool,
    pub(crate) require_sealed: bool,
    pub(crate) largest_region: u64,
    pub(crate) max_sessions: usize,
    pub(crate) max_half_open: usize,
    pub(crate) socket_mode: u32,
    pub(crate) take_over: bool,
}

impl ServerOptions {
    /// The defaults, for clients that are trusted so far.
    pub fn new(trust: Trust) -> Self {
        Self {
            session: SessionOptions::default(),
            trust,
            folders: vec![PathBuf::from("/dev/shm")],
            remove_files: false,
            require_sealed: false,
            largest_region: (1 << 32) - 1,
            max_sessions: 1024,
            max_half_open: 256,
            socket_mode: 0o600,
            take_over: false,
        }
    }

    /// Settings of each session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// The folders in and below which clients may name files; none refuses file mode. Default
    /// `/dev/shm`. Outside of them no path is opened at all, inside none through a symbolic link or
    /// on another file system than the folder's, and only regular files that belong to the client's
    /// user. Whoever touches a file waits for its file system: name only folders on those that can
    /// be relied on, best in memory.
    pub fn folders<P: AsRef<Path>>(mut self, folders: impl IntoIterator<Item = P>) -> Self {
        self.folders = folders.into_iter().map(|folder| folder.as_ref().to_owned()).collect();
        self
    }

    /// Remove a client's files when its session ends, as upstream's servers do: for clients of
    /// upstream, which leave them behind when they are killed. Only files that were mapped as
    /// regions and belong to the client's user. Default false: nothing is removed that was not made
    /// here. Breezeway's clients remove theirs early.
    pub fn remove_files(mut self, allowed: bool) -> Self {
        self.remove_files = allowed;
        self
    }

    /// Refuse memfds that are not sealed against shrinking. Upstream's are not; Breezeway's are.
    /// Default false: a truncation is noticed and ends that session.
    pub fn require_sealed(mut self, required: bool) -> Self {
        self.require_sealed = required;
        self
    }

    /// The largest region that a client may bring, in bytes. Default: what the protocol can
    /// address, 4 GiB.
    pub fn largest_region(mut self, bytes: u64) -> Self {
        self.largest_region = bytes;
        self
    }

    /// The most sessions at a time; more are refused. Default 1024.
    pub fn max_sessions(mut self, count: usize) -> Self {
        self.max_sessions = count;
        self
    }

    /// The most unfinished handshakes at a time; another one ends the oldest. Default 256.
    pub fn max_half_open(mut self, count: usize) -> Self {
        self.max_half_open = count.max(1);
        self
    }

    /// Permission bits of the socket file. Default `0o600`.
    pub fn socket_mode(mut self, mode: u32) -> Self {
        self.socket_mode = mode;
        self
    }

    /// Take the address over from a running server, which then should do a hot restart. Default
    /// false: an address in use is an error.
    pub fn take_over(mut self, allowed: bool) -> Self {
        self.take_over = allowed;
        self
    }
}
