//! Error of a reply.

use breezeway_shm::SendError;
use thiserror::Error;

use super::memory::{SegmentError, Shortage};
use super::texts::{SPACE_OF_ANOTHER_SESSION, too_much_metadata};
use super::{ErrorKind, SessionError};
use crate::carrier::LinkError;

/// Error returned when a handler could not reply.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The reply is larger than the session allows; the client's call fails.
    #[error("{}", SendError::TooLarge { len: *len, cap: *cap })]
    TooLarge {
        /// The reply's length.
        len: usize,
        /// The cap: the smaller of both sides' settings.
        cap: usize,
    },
    /// Payload memory for the reply is short; the client's call fails.
    #[error("{}", SendError::NoMemory { len: *len, shortage: shortage.0, until: None })]
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
    #[error(fmt = too_much_metadata)]
    TooMuchMetadata {
        /// The metadata's length.
        len: usize,
        /// The client's limit.
        limit: usize,
    },
    /// The space was reserved from another session than the call's; the client's call fails.
    #[error("{SPACE_OF_ANOTHER_SESSION}")]
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

impl ReplyError {
    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TooLarge { .. } | Self::TooMuchMetadata { .. } => ErrorKind::TooLarge,
            Self::NoMemory { .. } => ErrorKind::Shortage,
            Self::Segment(error) => error.kind(),
            Self::SpaceOfAnotherSession | Self::Forked => ErrorKind::InvalidUse,
            Self::Full { .. } => ErrorKind::Violation,
            Self::Session(error) => error.kind(),
            Self::SessionEnded => ErrorKind::Closed,
        }
    }
}

impl ReplyError {
    /// Converts the error of a message that was not sent.
    pub(crate) fn of_send(error: SendError) -> Self {
        match error {
            SendError::Full { unconsumed, .. } => Self::Full { unconsumed },
            SendError::TooLarge { len, cap } => Self::TooLarge { len, cap },
            SendError::NoMemory { len, shortage, .. } => {
                Self::NoMemory { len, shortage: Shortage(shortage) }
            }
            SendError::Segment(error) => Self::Segment(SegmentError(error)),
            SendError::Socket(error) => Self::Session(LinkError::from(error).into()),
        }
    }
}
