//! Errors of a link.

use std::fmt::{self, Display, Formatter};
use std::io;

use breezeway_os::segment::SegmentError;
use breezeway_proto::{CallViolation, Flags, Kind, RawHead, validate};
use breezeway_shm::{SocketError, Violation as MemoryViolation, WaitError};
use rustix::io::Errno;

use super::tls::TlsError;
use crate::violation::Violation;

/// Error of a link. It ends the session unless it is a shortage or the end of a wait.
#[derive(Debug)]
pub(crate) enum LinkError {
    /// The deadline of a wait has passed.
    DeadlinePassed,
    /// The peer is gone, and everything that it sent was taken.
    Closed,
    /// The receive buffer is full: some of it must be taken before more is sent.
    ReceiveBufferFull,
    /// The peer broke a rule.
    Violation(Violation),
    /// This process is short of a resource that the peer's next segment or message takes. The
    /// session continues.
    Shortage(SegmentError),
    /// A message on a socket found no memory in time and is dropped. The session continues if its
    /// sender can be notified.
    Unreceived(Unreceived),
    /// A system call on the session socket failed.
    Io(Errno),
    /// TLS has ended the connection.
    Tls(TlsError),
    /// This is a forked child of the process that opened the session.
    Forked,
}

/// A message that found no memory in time.
#[derive(Debug)]
pub(crate) struct Unreceived {
    /// The message's head and the length of its body.
    pub(crate) frame: (RawHead, usize),
    pub(crate) error: SegmentError,
}

impl Unreceived {
    /// Returns the head of a dropped request that wants a reply.
    pub(crate) fn request(&self) -> Option<RawHead> {
        let (head, _) = self.frame;
        let is_call = validate::request(head).is_ok_and(|request| !request.one_way);
        (head.kind == Kind::Message as u8 && is_call).then_some(head)
    }

    /// Returns the head of a dropped reply to a call.
    pub(crate) fn reply(&self) -> Option<RawHead> {
        let (head, _) = self.frame;
        let is_reply = validate::reply(head, Flags::METADATA).is_ok();
        (head.kind == Kind::Message as u8 && is_reply).then_some(head)
    }
}

impl Display for Unreceived {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (_, len) = self.frame;
        write!(formatter, "a message of {len} bytes was not received: {}", self.error)
    }
}

impl std::error::Error for Unreceived {}

impl From<Unreceived> for io::Error {
    fn from(unreceived: Unreceived) -> Self {
        Self::new(io::ErrorKind::OutOfMemory, unreceived)
    }
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
        Self::Violation(crate::violation::MemoryViolation(violation).into())
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

impl From<WaitError> for LinkError {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::DeadlinePassed => Self::DeadlinePassed,
            WaitError::Closed => Self::Closed,
            WaitError::Socket(error) => error.into(),
        }
    }
}
