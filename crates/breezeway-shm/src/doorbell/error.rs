//! Error of the session socket.

use breezeway_os::segment::SegmentError;
use rustix::io::Errno;
use thiserror::Error;

use crate::violation::Violation;

/// Error of the session socket.
#[derive(Debug, Error)]
pub enum SocketError {
    /// The peer broke a rule of the ABI.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// This process lacks a resource that the peer's next segment needs. The session continues, and
    /// the segment can be received later.
    #[error("the peer's next segment cannot be mapped now: {0}")]
    Shortage(SegmentError),
    /// This is a forked child of the process that opened the session.
    #[error("a session cannot be used in a forked child; open one there")]
    Forked,
    /// A system call failed.
    #[error("session socket: {0}")]
    Call(#[from] Errno),
}
