//! Error that ends a session.

use std::io;
use std::sync::Arc;

use breezeway_os::shortage::advice;
use breezeway_shm::SocketError;
use thiserror::Error;

use super::texts::{BROKEN_PROTOCOL, ENDED_BY_TLS};
use super::{CallError, ErrorKind, SegmentError};
use crate::carrier::tls::TlsError;
use crate::violation::Violation;

/// Error that ended a session which this side serves. The client's closing it is not an error.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The peer process has ended without closing the session.
    #[error("the peer died")]
    PeerDied,
    /// The peer broke a rule of the protocol.
    #[error("{BROKEN_PROTOCOL}")]
    Violation(#[source] Violation),
    /// This process lacks a resource that the client's next segment or message takes: open files or
    /// memory. The session stays usable.
    #[error("the client's next segment or message finds no room now")]
    Shortage(#[source] SegmentError),
    /// The session socket failed.
    #[error("the session socket failed{advice}", advice = advice(.0))]
    Io(#[source] io::Error),
    /// TLS has ended the session: the bytes were changed in transit, or the client reported an
    /// error.
    #[error("{ENDED_BY_TLS}")]
    Tls(#[source] TlsError),
    /// This is a forked child of the process that opened the session.
    #[error("{}", SocketError::Forked)]
    Forked,
    /// The error that has ended a session shared by threads or tasks.
    #[error(transparent)]
    EndedBy(Arc<CallError>),
    /// The deadline passed. The session stays usable.
    #[error("the deadline passed; the session goes on")]
    DeadlinePassed,
}

impl SessionError {
    /// Returns the kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::PeerDied => ErrorKind::Died,
            Self::Violation(_) => ErrorKind::Violation,
            Self::Shortage(_) => ErrorKind::Shortage,
            Self::Io(error) => ErrorKind::of_io(error),
            Self::Tls(error) => error.kind(),
            Self::Forked => ErrorKind::InvalidUse,
            Self::EndedBy(end) => end.kind(),
            Self::DeadlinePassed => ErrorKind::Deadline,
        }
    }

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
