//! Why a link did not do what was asked of it.

use breezeway_os::segment::SegmentError;
use breezeway_shm::{SocketError, Violation as MemoryViolation, WaitError};
use rustix::io::Errno;

use crate::protocol::{CallViolation, Violation};
use crate::tls::TlsError;

/// Why a link failed, which ends the session but for a shortage.
#[derive(Debug)]
pub(crate) enum LinkError {
    /// The peer broke a rule.
    Violation(Violation),
    /// This process is short of something that the peer's next segment takes. The session goes on.
    Shortage(SegmentError),
    /// A system call on the session socket failed.
    Io(Errno),
    /// TLS has ended the connection.
    Tls(TlsError),
    /// This is a forked child of the process that opened the session.
    Forked,
}

impl From<TlsError> for LinkError {
    fn from(error: TlsError) -> Self {
        Self::Tls(error)
    }
}

impl From<SocketError> for LinkError {
    fn from(error: SocketError) -> Self {
        match error {
            SocketError::Violation(violation) => violation.into(),
            SocketError::Shortage(error) => Self::Shortage(error),
            SocketError::Forked => Self::Forked,
            SocketError::Call(errno) => errno.into(),
        }
    }
}

impl From<MemoryViolation> for LinkError {
    fn from(violation: MemoryViolation) -> Self {
        Self::Violation(violation.into())
    }
}

impl From<Errno> for LinkError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno)
    }
}

impl From<CallViolation> for LinkError {
    fn from(violation: CallViolation) -> Self {
        Self::Violation(violation.into())
    }
}

/// Why a wait ended without what was waited for.
#[derive(Debug)]
pub(crate) enum WaitFailure {
    DeadlinePassed,
    /// The peer is gone, and everything that it sent was taken.
    Closed,
    /// As much has come as may lie here: some of it is to be taken before more is sent.
    ReceiveBufferFull,
    Link(LinkError),
}

impl From<WaitError> for WaitFailure {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::DeadlinePassed => Self::DeadlinePassed,
            WaitError::Closed => Self::Closed,
            WaitError::Socket(error) => Self::Link(error.into()),
        }
    }
}

impl<E: Into<LinkError>> From<E> for WaitFailure {
    fn from(error: E) -> Self {
        Self::Link(error.into())
    }
}
