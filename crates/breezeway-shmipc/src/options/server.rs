//! The settings of a server.

use std::path::{Path, PathBuf};

use super::{SessionOptions, Trust};

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
