//! Errors of memory that a message or a session needs.

use std::fmt::{self, Display, Formatter};

use breezeway_os::segment;
use breezeway_shm as shm;

use super::ErrorKind;

/// Error of a segment that cannot be created here, or of a peer's segment that is unfit. Its text
/// names the size, and the limit to raise or the requirement that is not met.
#[derive(Debug)]
pub struct SegmentError(pub(crate) segment::SegmentError);

impl SegmentError {
    /// Returns true if this process or machine lacks a resource, which may come back. Otherwise the
    /// peer's segment is unfit, or this machine does not support shared memory.
    pub fn is_shortage(&self) -> bool {
        self.0.is_shortage()
    }

    pub(super) fn kind(&self) -> ErrorKind {
        use segment::SegmentError::{Call, NotReported, Probe};
        match &self.0 {
            error if error.is_shortage() => ErrorKind::Shortage,
            Call { .. } => ErrorKind::Io,
            // The options or the address ask for what this machine does not support.
            NotReported | Probe(_) => ErrorKind::InvalidUse,
            _ => ErrorKind::Violation,
        }
    }
}

impl Display for SegmentError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for SegmentError {}

/// Reason why a message gets no payload memory now: too much of the cap is lent to the peer, or is
/// kept for other streams, or all lend numbers or segments are in use. Its text names the numbers
/// and the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage(pub(crate) shm::Shortage);

impl Display for Shortage {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
