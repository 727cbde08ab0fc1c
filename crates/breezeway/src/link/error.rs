//! Why a link did not do what was asked of it.

use breezeway_shm::{PublishError, ReserveError, SocketError, Violation, WaitError};
use rustix::io::Errno;

use crate::protocol::CallViolation;

/// Why a link failed, which ends the session.
#[derive(Debug)]
pub(crate) enum LinkError {
    /// The transport failed, or the peer broke a rule of shared memory.
    Transport(SocketError),
    /// The peer broke a rule of frames.
    Violation(CallViolation),
}

impl From<SocketError> for LinkError {
    fn from(error: SocketError) -> Self {
        Self::Transport(error)
    }
}

impl From<Violation> for LinkError {
    fn from(violation: Violation) -> Self {
        Self::Transport(violation.into())
    }
}

impl From<Errno> for LinkError {
    fn from(errno: Errno) -> Self {
        Self::Transport(errno.into())
    }
}

impl From<CallViolation> for LinkError {
    fn from(violation: CallViolation) -> Self {
        Self::Violation(violation)
    }
}

/// Why a wait ended without what was waited for.
#[derive(Debug)]
pub(crate) enum WaitFailure {
    DeadlinePassed,
    /// The peer is gone, and everything that it sent was taken.
    Closed,
    /// As much has come as may lie here: some of it is to be taken before more is sent.
    Crowded,
    Link(LinkError),
}

impl From<WaitError> for WaitFailure {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::DeadlinePassed => Self::DeadlinePassed,
            WaitError::Socket(error) => Self::Link(error.into()),
            _ => Self::Closed,
        }
    }
}

impl From<LinkError> for WaitFailure {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

impl From<SocketError> for WaitFailure {
    fn from(error: SocketError) -> Self {
        Self::Link(error.into())
    }
}

/// Why a message was not published, yet or at all.
pub(crate) enum NotPublished {
    /// The peer has to take earlier messages first.
    Full,
    /// There is no space for it.
    Space(ReserveError),
    Failed(PublishError),
    Link(LinkError),
}

impl From<PublishError> for NotPublished {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Full => Self::Full,
            other => Self::Failed(other),
        }
    }
}

impl From<ReserveError> for NotPublished {
    fn from(error: ReserveError) -> Self {
        Self::Space(error)
    }
}

impl From<LinkError> for NotPublished {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}
