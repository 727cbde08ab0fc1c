//! Error of a call.

use std::io;
use std::sync::Arc;

use breezeway_os::shortage::advice;
use breezeway_proto::in_flight::CallId;
use breezeway_proto::{ErrorCode, printable};
use breezeway_shm::{SendError, SocketError};
use thiserror::Error;

use super::memory::{SegmentError, Shortage};
use super::texts::{BROKEN_PROTOCOL, ENDED_BY_TLS, SPACE_OF_ANOTHER_SESSION, too_much_metadata};
use super::{ErrorKind, may_have_run};
use crate::carrier::LinkError;
use crate::carrier::tls::TlsError;
use crate::violation::Violation;

/// Error returned when a call, or another use of a session, fails.
#[derive(Debug, Error)]
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
    #[error("{}", SendError::TooLarge { len: *len, cap: *cap })]
    TooLarge {
        /// The message's length.
        len: usize,
        /// The cap: the smaller of both sides' settings.
        cap: usize,
    },
    /// Payload memory for the message is short. The session stays usable.
    #[error("{}", SendError::NoMemory { len: *len, shortage: shortage.0, until: None })]
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
    #[error("{BROKEN_PROTOCOL}")]
    Violation(#[source] Violation),
    /// This process lacks a resource that the server's next segment or message takes: open files or
    /// memory. The session stays usable; the replies of all calls in flight are given up.
    #[error("the reply cannot be received")]
    Shortage(#[source] SegmentError),
    /// The session socket failed, which ended the session.
    #[error("the session socket failed, which ended the session{advice}", advice = advice(.0))]
    Io(#[source] io::Error),
    /// TLS has ended the session: the bytes were changed in transit, or the server reported an
    /// error.
    #[error("{ENDED_BY_TLS}")]
    Tls(#[source] TlsError),
    /// An earlier error ended the session.
    #[error("an earlier error ended the session; open another one")]
    Ended,
    /// This side has closed the session: see [`Session::close`](crate::Session::close).
    #[error("this side has closed the session; open another one")]
    ClosedHere,
    /// This is a forked child of the process that opened the session.
    #[error("{}", SocketError::Forked)]
    Forked,
    /// The error that has ended a session shared by threads or tasks.
    #[error(transparent)]
    EndedBy(Arc<CallError>),
    /// The session had ended before: the call was not sent.
    #[error("not sent, as the session has ended")]
    NotSent(#[source] Arc<CallError>),
    /// The server serves the requests that it has and accepts no new ones. The session stays
    /// usable.
    #[error("the server takes nothing new, as it is about to end; connect to its successor")]
    GoingAway,
    /// The metadata is longer than the peer accepts. The session stays usable.
    #[error(fmt = too_much_metadata)]
    TooMuchMetadata {
        /// The metadata's length.
        len: usize,
        /// The peer's limit.
        limit: usize,
    },
    /// The space was reserved from another session than the one that is to send it. Both sessions
    /// stay usable.
    #[error("{SPACE_OF_ANOTHER_SESSION}")]
    SpaceOfAnotherSession,
}

impl CallError {
    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Failed { code, .. } => ErrorKind::of_code(*code),
            Self::DeadlinePassed => ErrorKind::Deadline,
            Self::TooLarge { .. } | Self::TooMuchMetadata { .. } => ErrorKind::TooLarge,
            Self::NoMemory { .. } | Self::TooManyInFlight(_) | Self::Shortage(_) => {
                ErrorKind::Shortage
            }
            Self::Segment(error) => error.kind(),
            Self::RepliesPending(_)
            | Self::NothingInFlight
            | Self::SpaceOfAnotherSession
            | Self::Forked => ErrorKind::InvalidUse,
            Self::Closed | Self::ClosedHere | Self::Ended => ErrorKind::Closed,
            Self::PeerDied => ErrorKind::Died,
            Self::Violation(_) => ErrorKind::Violation,
            Self::Io(error) => ErrorKind::of_io(error),
            Self::Tls(error) => error.kind(),
            Self::EndedBy(end) | Self::NotSent(end) => end.kind(),
            Self::GoingAway => ErrorKind::GoingAway,
        }
    }

    /// Returns true if the server may have served the call, or a part of it. Otherwise the call can
    /// be repeated without running twice, on another session if this one has ended.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Failed { code, .. } => may_have_run(*code),
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
    pub(super) fn is_in_order(&self) -> bool {
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

impl CallError {
    /// Converts the error of a message that was not sent.
    pub(crate) fn of_send(error: SendError) -> Self {
        match error {
            SendError::Full { unconsumed, .. } => Self::TooManyInFlight(unconsumed),
            SendError::TooLarge { len, cap } => Self::TooLarge { len, cap },
            SendError::NoMemory { len, shortage, .. } => {
                Self::NoMemory { len, shortage: Shortage(shortage) }
            }
            SendError::Segment(error) => Self::Segment(SegmentError(error)),
            SendError::Socket(error) => LinkError::from(error).into(),
        }
    }
}
