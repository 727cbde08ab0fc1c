//! Errors, one type per boundary.
//!
//! The text of each is complete: logs and `main` print it alone. None has a
//! [`source`](std::error::Error::source), which would repeat a part of it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use thiserror::Error;

use crate::address::AddressError;
use crate::options::OptionError;
use crate::violation::Violation;

/// Implements `Debug` as the message. `main` and `unwrap` print errors in their debug form, and the
/// message is more useful to a reader than the fields.
macro_rules! debug_is_message {
    ($($error:ty),+ $(,)?) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, formatter)
            }
        }
    )+};
}

debug_is_message!(
    AcceptError,
    AddressError,
    ConnectError,
    OptionError,
    ServeError,
    SessionEnd,
    StreamError
);

/// Cause of a session's end.
#[derive(Clone, Error)]
#[non_exhaustive]
pub enum SessionEnd {
    /// This side closed it.
    #[error("this side closed the session")]
    Closed,
    /// The peer closed the connection or died. Data that it had sent before can still be read.
    #[error("the peer closed the session or died")]
    PeerGone,
    /// The peer broke a rule of the protocol.
    #[error("the peer broke the protocol: {0}")]
    Violation(Violation),
    /// The socket failed.
    #[error("the session's socket failed: {0}")]
    Socket(Arc<io::Error>),
}

impl From<Violation> for SessionEnd {
    fn from(cause: Violation) -> Self {
        Self::Violation(cause)
    }
}

impl From<io::Error> for SessionEnd {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        match error.kind() {
            BrokenPipe | ConnectionReset => Self::PeerGone,
            _ => Self::Socket(Arc::new(error)),
        }
    }
}

impl From<rustix::io::Errno> for SessionEnd {
    fn from(errno: rustix::io::Errno) -> Self {
        io::Error::from(errno).into()
    }
}

/// Error of an operation on a stream. None of these loses data: unsent data stays with the caller,
/// received data can still be read.
#[derive(Clone, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The timeout or deadline passed.
    #[error("the deadline passed")]
    TimedOut,
    /// [`Interrupter::interrupt`](crate::Interrupter::interrupt) was called.
    #[error("the wait was interrupted")]
    Interrupted,
    /// The peer has not taken earlier messages, and the session does not wait for that.
    #[error("the queue is full: the peer takes nothing; wait (when_full) or raise queue_capacity")]
    QueueFull,
    /// There are not enough free slices, and the session neither waits nor uses the socket.
    #[error(
        "the shared memory of {buffer_size} bytes has no room for {len} now; wait or use the \
         socket (when_exhausted), or raise buffer_size"
    )]
    MemoryExhausted {
        /// Bytes wanted.
        len: usize,
        /// Size of the region, which the client has chosen.
        buffer_size: u32,
    },
    /// The peer or this side has closed the stream: nothing more can be sent.
    #[error("the stream is closed")]
    Closed,
    /// Reserving or waiting for this many bytes can never succeed.
    #[error(
        "{len} bytes can never be had at once, {largest} can; take them in parts or raise {option}"
    )]
    TooLarge {
        /// Requested bytes.
        len: usize,
        /// Maximum that has room if nothing else uses any of it.
        largest: usize,
        /// Option that sets that limit.
        option: &'static str,
    },
    /// The session has as many streams as are allowed.
    #[error("the session has {0} streams, the most allowed; close some or raise max_streams")]
    TooManyStreams(usize),
    /// The session is over.
    #[error("the session is over: {0}")]
    Session(SessionEnd),
}

impl From<SessionEnd> for StreamError {
    fn from(cause: SessionEnd) -> Self {
        Self::Session(cause)
    }
}

impl From<StreamError> for io::Error {
    fn from(error: StreamError) -> Self {
        use io::ErrorKind;
        let kind = match &error {
            StreamError::TimedOut => ErrorKind::TimedOut,
            StreamError::QueueFull | StreamError::MemoryExhausted { .. } => ErrorKind::WouldBlock,
            // `ErrorKind::Interrupted` would make `read_exact` and similar functions try again.
            StreamError::Interrupted => ErrorKind::TimedOut,
            StreamError::Closed => ErrorKind::BrokenPipe,
            StreamError::TooLarge { .. } => ErrorKind::InvalidInput,
            StreamError::Session(SessionEnd::PeerGone) => ErrorKind::ConnectionReset,
            StreamError::Session(SessionEnd::Closed) => ErrorKind::NotConnected,
            StreamError::Session(SessionEnd::Violation(_)) => ErrorKind::InvalidData,
            _ => ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// Error of agreeing on a session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The peer broke a rule.
    #[error("the peer broke the protocol: {0}")]
    Violation(Violation),
    /// The peer sent nothing, or not enough, in time.
    #[error(
        "the peer did not complete the handshake in time; raise handshake_timeout if it is slow"
    )]
    TimedOut,
    /// The peer closed the connection.
    #[error(
        "the peer closed the connection during the handshake; its log has the reason: it may \
         speak another protocol or version, or not trust this user"
    )]
    Closed,
    /// The peer runs under a user that is not trusted.
    #[error(
        "the peer's user ({}) is not trusted; name it in the options (Trust)",
        .user.map_or("unknown".to_owned(), |user| user.to_string())
    )]
    NotTrusted {
        /// User id of the peer, if known.
        user: Option<u32>,
    },
    /// The client names a file outside the folders that the options allow.
    #[error(
        "the client names {0}, which is in none of the folders of the options; add its folder there"
    )]
    PathNotAllowed(PathBuf),
    /// The client names files, and its user, the required owner, is unknown.
    #[error(
        "the client names files and its user is unknown, so they may be any user's; allow that \
         with files_of_unknown_users if all local processes that can connect are trusted"
    )]
    UnknownUser,
    /// The client names an unusable file.
    #[error("the client names {path}, which {reason}")]
    Path {
        /// The file.
        path: PathBuf,
        /// Problem of the file.
        reason: &'static str,
    },
    /// This process can open no more files, so the client's regions were lost.
    #[error(
        "no file descriptor is left for the client's regions: this process may have {limit} \
         (RLIMIT_NOFILE); raise that with `ulimit -n` or LimitNOFILE=, or lower max_sessions"
    )]
    DescriptorLimit {
        /// Soft limit of this process.
        limit: u64,
    },
    /// A system call failed.
    #[error("{call}: {cause}")]
    Io {
        /// System call.
        call: &'static str,
        /// Error of the system call.
        cause: io::Error,
    },
}

impl From<Violation> for HandshakeError {
    fn from(cause: Violation) -> Self {
        Self::Violation(cause)
    }
}

impl HandshakeError {
    pub(crate) fn descriptor_limit() -> Self {
        Self::DescriptorLimit { limit: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) }
    }

    pub(crate) fn io(call: &'static str) -> impl Fn(rustix::io::Errno) -> Self {
        move |errno| match errno {
            rustix::io::Errno::AGAIN | rustix::io::Errno::TIMEDOUT => Self::TimedOut,
            rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET => Self::Closed,
            errno => Self::Io { call, cause: errno.into() },
        }
    }
}

impl From<io::Error> for HandshakeError {
    fn from(cause: io::Error) -> Self {
        Self::Io { call: "getsockname", cause }
    }
}

/// Error of a session over a socket that was accepted elsewhere.
#[derive(Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// A setting is invalid.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The handshake failed.
    #[error("no session was agreed on: {0}")]
    Handshake(HandshakeError),
}

impl From<HandshakeError> for AcceptError {
    fn from(cause: HandshakeError) -> Self {
        Self::Handshake(cause)
    }
}

/// Error of a client without a session.
#[derive(Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// A setting is invalid.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The server cannot be reached.
    #[error("cannot connect to {address}: {cause}")]
    Connect {
        /// Address.
        address: String,
        /// Error of the system call.
        cause: io::Error,
    },
    /// The regions cannot be created.
    #[error(
        "cannot make {size} bytes of shared memory ({call}): {cause}; make room or lower {option}"
    )]
    Memory {
        /// System call.
        call: &'static str,
        /// Bytes wanted.
        size: u32,
        /// Option that sets the size.
        option: &'static str,
        /// Error of the system call.
        cause: io::Error,
    },
    /// The memory cgroup has no room; past its limit the kernel kills the process instead of
    /// failing.
    #[error(
        "{size} bytes of shared memory do not fit into the memory cgroup, which leaves {headroom}; \
         lower {option} or raise {file}"
    )]
    NoHeadroom {
        /// Bytes wanted.
        size: u64,
        /// Bytes left.
        headroom: u64,
        /// File of the limit.
        file: PathBuf,
        /// Option that sets the size.
        option: &'static str,
    },
    /// The handshake failed.
    #[error("no session was agreed on: {0}")]
    Handshake(HandshakeError),
    /// No session was agreed on within the time for connecting.
    #[error("no session within {timeout:?}; the last try: {last}")]
    NoSession {
        /// Time for connecting.
        timeout: Duration,
        /// Error of the last try.
        last: String,
    },
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
    /// The session has too many streams, or ended at once.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

impl From<HandshakeError> for ConnectError {
    fn from(cause: HandshakeError) -> Self {
        Self::Handshake(cause)
    }
}

/// Error of starting a server.
#[derive(Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A setting is invalid.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A server already listens there.
    #[error(
        "{0} is in use by a running server; choose another path, end that server, or take the path \
         over (take_over)"
    )]
    InUse(PathBuf),
    /// A file that is not a socket is in the way.
    #[error("{0} exists and is not a socket; remove it or choose another path")]
    NotASocket(PathBuf),
    /// The folder of the socket file does not exist.
    #[error("the folder of {0} does not exist; create it, or choose another path")]
    NoFolder(PathBuf),
    /// Another user's socket is there, and this user cannot detect whether it is served.
    #[error(
        "{path} belongs to user {owner}, and this user may not connect to it to see whether a \
         server listens; choose another path"
    )]
    MayNotConnect {
        /// The socket file.
        path: PathBuf,
        /// User id that it belongs to.
        owner: u32,
    },
    /// A socket without a server is there, and may not be removed.
    #[error(
        "{path} is a left-over of user {owner}, which this user may not remove; let that user \
         remove it or choose another path"
    )]
    MayNotRemove {
        /// The socket file.
        path: PathBuf,
        /// User id that it belongs to.
        owner: u32,
    },
    /// The socket cannot be created.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// Address.
        address: String,
        /// Error of the system call.
        cause: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn error_text_contains_its_cause_once() {
        let cause = || io::Error::other("the kernel's reason");
        let handshake = || HandshakeError::Io { call: "mmap", cause: cause() };
        let end = || SessionEnd::Socket(Arc::new(cause()));
        let errors: [Box<dyn Error>; 7] = [
            Box::new(handshake()),
            Box::new(ConnectError::from(handshake())),
            Box::new(ConnectError::Connect { address: "x".to_owned(), cause: cause() }),
            Box::new(ConnectError::from(StreamError::from(end()))),
            Box::new(ServeError::Listen { address: "x".to_owned(), cause: cause() }),
            Box::new(StreamError::from(end())),
            Box::new(end()),
        ];
        for error in errors {
            let text = error.to_string();
            assert_eq!(text.matches("the kernel's reason").count(), 1, "{text}");
            assert!(error.source().is_none(), "{text}");
        }
    }
}
