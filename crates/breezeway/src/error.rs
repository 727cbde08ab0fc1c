//! Error types, one per boundary.
//!
//! Errors here contain two types of `breezeway-shm`, which this crate re-exports: `Shortage` names
//! the payload memory that is lacking, `MemoryViolation` the rule of the ABI that a peer broke.
//! Both name facts of the page (`docs/abi.md`) rather than of the code below. Other errors of that
//! crate stay internal.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use breezeway_os::segment::SegmentError;
use breezeway_os::shortage::advice;
use breezeway_os::socket_file::LONGEST_PATH;
use breezeway_proto::in_flight::CallId;
use breezeway_proto::{CallViolation, ErrorCode, printable};
use breezeway_shm::{SendError, Shortage, SocketError};
use thiserror::Error;

use crate::address::{AddressError, Place};
use crate::carrier::tls::TlsError;
use crate::carrier::{LinkError, WaitFailure};
use crate::client::ClientError;
use crate::hand_over::TakeOverError;
use crate::handshake::HandshakeError;
use crate::options::OptionError;
use crate::violation::Violation;

/// Implements `Debug` as the message: `main` and `unwrap` print errors in their debug form, and the
/// message is of more use to a reader than the fields.
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
    AddressError,
    CallError,
    ClientError,
    ConnectError,
    OptionError,
    ReplyError,
    ServeError,
    SessionError,
);

/// Converts an error that ends a session, of its link or of its peer, into an error of calls and of
/// serving.
macro_rules! from_link {
    ($($error:ident),+) => {$(
        impl From<LinkError> for $error {
            fn from(error: LinkError) -> Self {
                match error {
                    LinkError::Violation(violation) => Self::Violation(violation),
                    LinkError::Shortage(error) => Self::Shortage(error),
                    LinkError::Unreceived(unreceived) => Self::Io(unreceived.into()),
                    LinkError::Io(errno) => Self::Io(errno.into()),
                    LinkError::Tls(error) => Self::Tls(error),
                    LinkError::Forked => Self::Forked,
                }
            }
        }

        impl From<SocketError> for $error {
            fn from(error: SocketError) -> Self {
                LinkError::from(error).into()
            }
        }

        impl From<CallViolation> for $error {
            fn from(violation: CallViolation) -> Self {
                Self::Violation(violation.into())
            }
        }
    )+};
}

from_link!(CallError, SessionError);

/// Error returned when a client gets no session.
#[derive(Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is malformed.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A setting is outside its range.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The socket does not exist.
    #[error("no server at {0}: the socket file does not exist; start the server first")]
    NoSocket(PathBuf),
    /// The socket file exists, but no process listens on it: its server has ended, or has been
    /// restarted behind a mount of this file alone, which keeps the old file.
    #[error(
        "no server at {0}: the socket file is a left-over of one that ended; start the server \
         again, or, if the file alone is mounted here, mount its folder"
    )]
    NobodyListens(PathBuf),
    /// The file at the path is not a socket.
    #[error("no server at {0}: it is not a socket; remove it or use the server's own path")]
    NotASocket(PathBuf),
    /// The permissions of the socket do not allow to open it.
    #[error(
        "no permission to connect to {0}: ask its owner for write permission on the socket file"
    )]
    Permission(PathBuf),
    /// No process listens on the port.
    #[error("no server at {0}: no process listens there; start the server first")]
    Refused(Place),
    /// The host's name has no address.
    #[error("no server at {place}: cannot find the host: {source}")]
    NoSuchHost {
        /// Place where a server was expected.
        place: Place,
        /// Error of the resolver.
        source: io::Error,
    },
    /// The server does not accept.
    #[error("the server at {place} does not accept within {timeout:?}: it hangs or is overloaded")]
    NotAccepting {
        /// Place where the server listens.
        place: Place,
        /// Time that the client waited.
        timeout: Duration,
    },
    /// The certificates for TLS lack something.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The hello failed, or TLS's handshake before it.
    #[error("handshake: {0}")]
    Handshake(#[from] HandshakeError),
    /// None of the address's places works.
    #[error("no place of the address works:{}", list(.0))]
    NoPlace(Vec<(Place, ConnectError)>),
    /// The thread to connect on could not be started.
    #[error("cannot connect: {0}")]
    Thread(io::Error),
    /// Another error of the kernel.
    #[error("cannot connect to {place}: {source}{}", advice(source))]
    Io {
        /// Place where a server was expected.
        place: Place,
        /// Error of the kernel.
        source: io::Error,
    },
}

impl ConnectError {
    /// Returns true if a later attempt may succeed: the server is about to start, or to restart.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NoSocket(_)
            | Self::NobodyListens(_)
            | Self::Refused(_)
            | Self::NotAccepting { .. } => true,
            // The resolver may answer the next time.
            Self::Io { source, .. } => source.kind() == io::ErrorKind::TimedOut,
            Self::Handshake(error) => error.may_pass(),
            Self::NoPlace(failures) => failures.iter().any(|(_, error)| error.may_pass()),
            _ => false,
        }
    }
}

/// Lists each place with its error.
fn list(failures: &[(Place, ConnectError)]) -> String {
    failures.iter().map(|(place, error)| format!(" {place} ({error});")).collect()
}

/// Error returned when a call, or another use of a session, fails.
#[derive(Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server's handler answered with an error. The session stays usable.
    #[error("the server failed the call: {}", printable(reason))]
    Failed {
        /// Call that failed.
        call: CallId,
        /// Kind of failure.
        code: ErrorCode,
        /// The handler's error as received; it may contain any character.
        reason: String,
    },
    /// The deadline passed. The session stays usable; a late reply is dropped when it arrives.
    #[error("the call's deadline passed")]
    DeadlinePassed,
    /// The message is larger than the session allows. The session stays usable.
    #[error(
        "a message of {len} bytes exceeds the session's cap of {cap} bytes; raise the cap on both \
         sides"
    )]
    TooLarge {
        /// The message's length.
        len: usize,
        /// The cap: the smaller of both sides' settings.
        cap: usize,
    },
    /// Payload memory for the message is short. The session stays usable.
    #[error("no payload memory for {len} bytes: {shortage}")]
    NoMemory {
        /// The message's length.
        len: usize,
        /// Memory that is short.
        shortage: Shortage,
    },
    /// The kernel provides no memory for the message. The session stays usable.
    #[error(transparent)]
    Segment(SegmentError),
    /// The limit on calls in flight is reached: that of the rings, or, on a socket, the limit on
    /// replies that wait to be received. Receive a reply first. The session stays usable.
    #[error(
        "{0} calls are in flight, the most that ring_capacity (on a socket also the cap) allows; \
         receive a reply first or raise it"
    )]
    TooManyInFlight(usize),
    /// A call cannot be sent while replies of pipelined calls are to be received. The session stays
    /// usable.
    #[error("{0} pipelined calls are in flight; receive their replies before a plain call")]
    RepliesPending(usize),
    /// No call is in flight, so there is nothing to receive. The session stays usable.
    #[error("no call is in flight, so no reply will come")]
    NothingInFlight,
    /// The server ended the session in order, after all that it had sent.
    #[error("the server closed the session")]
    Closed,
    /// The peer process has ended without closing the session.
    #[error("the peer died")]
    PeerDied,
    /// The peer broke a rule of the protocol, which ended the session.
    #[error("the peer broke the protocol, which ended the session: {0}")]
    Violation(Violation),
    /// This process lacks a resource that the server's next segment or message takes: open files or
    /// memory. The session stays usable; the replies of all calls in flight are given up.
    #[error("the reply cannot be received: {0}")]
    Shortage(SegmentError),
    /// The session socket failed, which ended the session.
    #[error("the session socket failed, which ended the session: {0}{advice}", advice = advice(.0))]
    Io(io::Error),
    /// TLS has ended the session: the bytes were changed in transit, or the server reported an
    /// error.
    #[error("TLS has ended the session: {0}")]
    Tls(TlsError),
    /// An earlier error ended the session.
    #[error("an earlier error ended the session; open another one")]
    Ended,
    /// This side has closed the session: see [`Channel::close`](crate::Channel::close).
    #[error("this side has closed the session; open another one")]
    ClosedHere,
    /// This is a forked child of the process that opened the session.
    #[error("a session cannot be used in a forked child; open one there")]
    Forked,
    /// The error that has ended a session shared by threads or tasks.
    #[error("{0}")]
    EndedBy(Arc<CallError>),
    /// The session had ended before: the call was not sent.
    #[error("not sent, as the session has ended: {0}")]
    NotSent(Arc<CallError>),
    /// The server serves the requests that it has and accepts no new ones. The session stays
    /// usable.
    #[error("the server takes nothing new, as it is about to end; connect to its successor")]
    GoingAway,
    /// The metadata is longer than the peer accepts. The session stays usable.
    #[error(
        "metadata of {len} bytes, where the other side takes {limit}; raise its option max_metadata"
    )]
    TooMuchMetadata {
        /// The metadata's length.
        len: usize,
        /// The peer's limit.
        limit: usize,
    },
    /// The space was reserved from another session than the one that is to send it. Both sessions
    /// stay usable.
    #[error("the space belongs to another session; reserve it from the one that sends it")]
    SpaceOfAnotherSession,
}

impl CallError {
    /// Returns true if the server may have served the call, or a part of it. Otherwise the call can
    /// be repeated without running twice, on another session if this one has ended.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Failed { code, .. } => !matches!(
                code,
                ErrorCode::NoSuchMethod | ErrorCode::Refused | ErrorCode::Overloaded
            ),
            Self::TooLarge { .. }
            | Self::NoMemory { .. }
            | Self::Segment(_)
            | Self::TooManyInFlight(_)
            | Self::RepliesPending(_)
            | Self::NothingInFlight
            | Self::Ended
            | Self::Forked
            | Self::GoingAway
            | Self::NotSent(_)
            | Self::TooMuchMetadata { .. }
            | Self::SpaceOfAnotherSession => false,
            Self::DeadlinePassed
            | Self::Closed
            | Self::ClosedHere
            | Self::PeerDied
            | Self::Violation(_)
            | Self::Shortage(_)
            | Self::Io(_)
            | Self::Tls(_)
            | Self::EndedBy(_) => true,
        }
    }

    /// Returns true if the error is the orderly end of a session.
    fn is_in_order(&self) -> bool {
        matches!(self, Self::Closed | Self::ClosedHere)
    }

    /// Returns true if the session can still be used.
    pub fn session_goes_on(&self) -> bool {
        match self {
            Self::Failed { .. }
            | Self::DeadlinePassed
            | Self::TooLarge { .. }
            | Self::NoMemory { .. }
            | Self::Segment(_)
            | Self::Shortage(_)
            | Self::TooManyInFlight(_)
            | Self::RepliesPending(_)
            | Self::GoingAway
            | Self::TooMuchMetadata { .. }
            | Self::SpaceOfAnotherSession
            | Self::NothingInFlight => true,
            Self::Closed
            | Self::ClosedHere
            | Self::PeerDied
            | Self::Violation(_)
            | Self::Io(_)
            | Self::Tls(_)
            | Self::Ended
            | Self::EndedBy(_)
            | Self::NotSent(_)
            | Self::Forked => false,
        }
    }
}

impl From<Violation> for CallError {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}

impl From<SendError> for CallError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Full { unconsumed, .. } => Self::TooManyInFlight(unconsumed),
            SendError::TooLarge { len, cap } => Self::TooLarge { len, cap },
            SendError::NoMemory { len, shortage, .. } => Self::NoMemory { len, shortage },
            SendError::Segment(error) => Self::Segment(error),
            SendError::Socket(error) => error.into(),
        }
    }
}

/// Error that ended a session which this side serves. The client's closing it is not an error.
#[derive(Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The peer process has ended without closing the session.
    #[error("the peer died")]
    PeerDied,
    /// The peer broke a rule of the protocol.
    #[error("the peer broke the protocol, which ended the session: {0}")]
    Violation(Violation),
    /// This process lacks a resource that the client's next segment or message takes: open files or
    /// memory. The session stays usable.
    #[error("the client's next segment or message finds no room now: {0}")]
    Shortage(SegmentError),
    /// The session socket failed.
    #[error("the session socket failed: {0}{advice}", advice = advice(.0))]
    Io(io::Error),
    /// TLS has ended the session: the bytes were changed in transit, or the client reported an
    /// error.
    #[error("TLS has ended the session: {0}")]
    Tls(TlsError),
    /// This is a forked child of the process that opened the session.
    #[error("a session cannot be used in a forked child; open one there")]
    Forked,
    /// The error that has ended a session shared by threads or tasks.
    #[error("{0}")]
    EndedBy(Arc<CallError>),
    /// The deadline passed. The session stays usable.
    #[error("the deadline passed; the session goes on")]
    DeadlinePassed,
}

impl SessionError {
    /// Converts the error that has ended a shared session to that of its server; `None` if the
    /// session ended in order.
    pub(crate) fn of_call(error: CallError) -> Option<Self> {
        match error {
            error if error.is_in_order() => None,
            CallError::PeerDied => Some(Self::PeerDied),
            CallError::Violation(violation) => Some(Self::Violation(violation)),
            CallError::Io(error) => Some(Self::Io(error)),
            CallError::Tls(error) => Some(Self::Tls(error)),
            CallError::Forked => Some(Self::Forked),
            CallError::EndedBy(end) => match Arc::try_unwrap(end) {
                Ok(error) => Self::of_call(error),
                Err(end) if end.is_in_order() => None,
                Err(end) => Some(Self::EndedBy(end)),
            },
            other => Some(Self::EndedBy(Arc::new(other))),
        }
    }

    /// Returns true if this process lacks a resource; the session is served again once that is
    /// mended.
    pub(crate) fn is_shortage(&self) -> bool {
        matches!(self, Self::Shortage(_))
    }
}

impl From<WaitFailure> for SessionError {
    fn from(error: WaitFailure) -> Self {
        match error {
            WaitFailure::Link(error) => error.into(),
            // A server waits without a deadline, and takes what has arrived before it waits.
            WaitFailure::Closed | WaitFailure::ReceiveBufferFull | WaitFailure::DeadlinePassed => {
                Self::PeerDied
            }
        }
    }
}

/// Error returned when a handler could not reply.
#[derive(Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The reply is larger than the session allows; the client's call fails.
    #[error(
        "a message of {len} bytes exceeds the session's cap of {cap} bytes; raise the cap on both \
         sides"
    )]
    TooLarge {
        /// The reply's length.
        len: usize,
        /// The cap: the smaller of both sides' settings.
        cap: usize,
    },
    /// Payload memory for the reply is short; the client's call fails.
    #[error("no payload memory for {len} bytes: {shortage}")]
    NoMemory {
        /// The reply's length.
        len: usize,
        /// Memory that is short.
        shortage: Shortage,
    },
    /// The kernel provides no memory for the reply; the client's call fails.
    #[error(transparent)]
    Segment(SegmentError),
    /// The reply's metadata is longer than the client accepts; the client's call fails.
    #[error(
        "metadata of {len} bytes, where the other side takes {limit}; raise its option max_metadata"
    )]
    TooMuchMetadata {
        /// The metadata's length.
        len: usize,
        /// The client's limit.
        limit: usize,
    },
    /// The space was reserved from another session than the call's; the client's call fails.
    #[error("the space belongs to another session; reserve it from the one that sends it")]
    SpaceOfAnotherSession,
    /// The client has more calls in flight than agreed, which ends its session.
    #[error("the client leaves no room for replies: it has not received {unconsumed} of them")]
    Full {
        /// Number of replies that the client has not received.
        unconsumed: usize,
    },
    /// The session failed, which ends it.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session of an [`OwnedCall`](crate::OwnedCall) has ended, so the reply is of no use.
    #[error("the session has ended; the reply is not awaited")]
    SessionEnded,
    /// This is a forked child of the process that was called.
    #[error("a call cannot be replied to in a forked child; reply in the process that was called")]
    Forked,
}

impl From<SendError> for ReplyError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Full { unconsumed, .. } => Self::Full { unconsumed },
            SendError::TooLarge { len, cap } => Self::TooLarge { len, cap },
            SendError::NoMemory { len, shortage, .. } => Self::NoMemory { len, shortage },
            SendError::Segment(error) => Self::Segment(error),
            SendError::Socket(error) => Self::Session(error.into()),
        }
    }
}

/// Error returned when a server does not run.
#[derive(Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is malformed.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A setting is outside its range.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// This machine does not support the address's carrier.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The certificates for TLS lack something.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A server already listens there.
    #[error("{0} is in use by a running server; choose another address or end that one")]
    InUse(Place),
    /// The file at the path is not a socket.
    #[error("{0} exists and is not a socket; remove it or choose another path")]
    NotASocket(PathBuf),
    /// Another user's socket is at the path, and this user cannot find out if it is served.
    #[error(
        "{path} belongs to user {owner}, and this user may not connect to it to see whether a \
         server listens; choose another path"
    )]
    MayNotConnect {
        /// The socket file.
        path: PathBuf,
        /// User id of the owner.
        owner: u32,
    },
    /// A left-over socket is at the path, and this user may not remove it.
    #[error(
        "{path} is a left-over of user {owner}, which this user may not remove; let that user \
         remove it or choose another path"
    )]
    MayNotRemove {
        /// The socket file.
        path: PathBuf,
        /// User id of the owner.
        owner: u32,
    },
    /// A server listens there, and this one could not take over from it.
    #[error("cannot take over from the server with the admin socket {path}: {source}")]
    TakeOver {
        /// The admin socket.
        path: PathBuf,
        /// Error of taking over.
        source: TakeOverError,
    },
    /// A server that can be taken over from needs an admin socket, and has no path for one.
    #[error(
        "no place for the admin socket of a server without a socket file; set admin_socket \
         (--admin) to a path of its own"
    )]
    NoAdminSocket,
    /// The path of the admin socket does not fit into a socket address.
    #[error(
        "the path of the admin socket, {path}, is {} bytes long and {LONGEST_PATH} fit into a \
         socket address; set admin_socket (--admin) to a shorter one",
        path.as_os_str().len()
    )]
    AdminPathTooLong {
        /// Path of the admin socket.
        path: PathBuf,
    },
    /// The listening socket could not be created.
    #[error("cannot listen on {place}: {source}{}", advice(source))]
    Listen {
        /// Place where the server was to listen.
        place: Place,
        /// Error of the kernel.
        source: io::Error,
    },
    /// An operation inside the server failed.
    #[error("cannot serve: {0}{advice}", advice = advice(.0))]
    Io(#[from] io::Error),
}
