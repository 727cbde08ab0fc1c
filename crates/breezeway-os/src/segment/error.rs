//! Errors of segments, with the remedies for each.

use std::borrow::Cow;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use thiserror::Error;

use crate::ledger::MemoryLimit;
use crate::shortage;

/// Error of making or accepting a segment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// A system call failed.
    #[error("{call} for a segment of {size} bytes: {source}{}", advice(call, *source))]
    Call {
        /// The system call.
        call: &'static str,
        /// Size of the segment.
        size: usize,
        /// Error of the system call.
        source: Errno,
    },
    /// The memory cgroup has no room; past its limit the kernel kills the process instead of
    /// failing.
    #[error(
        "{size} bytes do not fit into the memory cgroup: {headroom} bytes are left below the limit \
         in {file}; raise that limit or lower the session's cap"
    )]
    NoHeadroom {
        /// Size of the segment, or of the private memory.
        size: usize,
        /// Bytes left.
        headroom: u64,
        /// File of the limit.
        file: String,
    },
    /// The process may not make a file of this size; the kernel would end it by SIGXFSZ.
    #[error(
        "a segment of {size} bytes exceeds this process's limit of file sizes, RLIMIT_FSIZE, of \
         {limit} bytes; raise it (ulimit -f) or lower the session's cap"
    )]
    FileSize {
        /// Size of the segment.
        size: usize,
        /// The limit.
        limit: u64,
    },
    /// The allocator has no private memory of this size.
    #[error("no private memory for {size} bytes{}", memory_advice())]
    Private {
        /// Bytes asked for.
        size: usize,
    },
    /// Clients, or this client's user, hold as much memory as allowed.
    #[error("no room for a segment of {size} bytes: {limit}; raise it, or let some be released")]
    Limit {
        /// Size of the segment.
        size: usize,
        /// The limit that was reached.
        limit: MemoryLimit,
    },
    /// Segments must be counted, and this one could not be.
    #[error(
        "no segment of {size} bytes: whether clients hold it would not be known: inotify: {source} \
         (raise sysctl fs.inotify.max_user_instances and max_user_watches, or do without \
         max_memory and max_memory_of_user)"
    )]
    Uncounted {
        /// Size of the segment.
        size: usize,
        /// Error of the system call.
        source: Errno,
    },
    /// Segments must be counted, and this machine does not report deleted ones.
    #[error(
        "this machine does not report by inotify that a memfd is gone, which max_memory and \
         max_memory_of_user need; do without them here"
    )]
    NotReported,
    /// The peer's segment lacks the required seals.
    #[error(
        "the segment is not sealed against shrinking and writing by others (seals {0:#x}); no \
         memfd with F_SEAL_SHRINK and F_SEAL_FUTURE_WRITE"
    )]
    NotSealed(u32),
    /// The peer's segment is not a plain tmpfs file.
    #[error("the segment is not a tmpfs file (file system type {0:#x})")]
    NotTmpfs(u64),
    /// The peer's segment does not have the announced or allowed size.
    #[error("the segment has {found} bytes, {expected} were announced or allowed")]
    Size {
        /// Size of the segment.
        found: u64,
        /// Required size.
        expected: u64,
    },
    /// The peer's segment has holes, which could fault later.
    #[error("only {backed} of the segment's {size} bytes are backed by memory")]
    NotBacked {
        /// Bytes backed by memory.
        backed: u64,
        /// Size of the segment.
        size: u64,
    },
    /// Seals have no effect on this machine.
    #[error(
        "sealed memfds do not work here: {0}; shm: needs Linux 5.1 or newer, use unix: on this \
         machine"
    )]
    Probe(&'static str),
}

impl SegmentError {
    /// Returns true if this process or machine lacks a resource at the moment. Such an error is not
    /// the peer's fault and may pass.
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::NoHeadroom { .. }
            | Self::FileSize { .. }
            | Self::Private { .. }
            | Self::Limit { .. }
            | Self::Uncounted { .. } => true,
            Self::Call { source, .. } => matches!(
                *source,
                Errno::MFILE
                    | Errno::NFILE
                    | Errno::NOMEM
                    | Errno::NOSPC
                    | Errno::TOOMANYREFS
                    | Errno::NOBUFS
                    | Errno::AGAIN
            ),
            _ => false,
        }
    }
}

fn advice(call: &str, errno: Errno) -> Cow<'static, str> {
    let advice = match errno {
        Errno::AGAIN if call == "sendmsg" => " (the peer has left the session socket unread)",
        // mmap(2): a process with mlockall(MCL_FUTURE) locks each new mapping.
        Errno::AGAIN if call == "mmap" => match limit_of(Resource::Memlock) {
            Some(limit) => return limited("locked memory, RLIMIT_MEMLOCK", limit, 'l').into(),
            None => " (the kernel has no memory for it now)",
        },
        Errno::AGAIN => " (the kernel has no memory for it now)",
        Errno::NOMEM if call == "mmap" => return memory_advice().into(),
        Errno::NOSPC | Errno::NOMEM => " (memory is short; lower the session's cap)",
        Errno::NOSYS | Errno::INVAL => " (shm: needs Linux 5.1 or newer)",
        errno => shortage::advice_for(errno),
    };
    advice.into()
}

/// Returns advice for a mapping, or the allocator, that found no memory.
fn memory_advice() -> String {
    match limit_of(Resource::As) {
        Some(limit) => limited("address space, RLIMIT_AS", limit, 'v'),
        None => " (memory is short; lower the session's cap)".to_owned(),
    }
}

fn limited(what: &str, limit: u64, option: char) -> String {
    format!(
        " (this process's limit of {what}, is {limit} bytes; raise it, ulimit -{option}, or lower \
         the session's cap)"
    )
}

/// Returns a limit of this process (getrlimit(2)), or None without one.
pub(super) fn limit_of(resource: Resource) -> Option<u64> {
    getrlimit(resource).current
}
