//! The settings of a client.

use std::path::PathBuf;
use std::time::Duration;

use super::{SessionOptions, Trust};

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
