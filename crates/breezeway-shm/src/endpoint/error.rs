//! Error of sending a message.

use breezeway_os::segment::SegmentError;
use thiserror::Error;

use crate::doorbell::SocketError;
use crate::payload::lender::Loan;
use crate::payload::shortage::Shortage;
use crate::ring::Want;
use crate::violation::Violation;

/// Error of sending a message or of reserving space for it. Nothing was published or consumed.
#[derive(Debug, Error)]
pub enum SendError {
    /// The ring is full: the peer has to consume entries first.
    #[error("the ring is full: {unconsumed} entries are not consumed; wait until the peer has")]
    Full {
        /// Entries that the peer has not consumed.
        unconsumed: usize,
        /// Condition to wait for before sending again: a quarter of the entries is consumed.
        until: Want,
    },
    /// The message is larger than the session allows.
    #[error(
        "a message of {len} bytes exceeds the session's cap of {cap} bytes; raise the cap on both \
         sides"
    )]
    TooLarge {
        /// Requested length.
        len: usize,
        /// The cap: the smaller of both sides' settings.
        cap: usize,
    },
    /// No payload memory is available now. Memory becomes available when the peer has released
    /// more, or, for another segment, consumed more.
    #[error("no payload memory for {len} bytes: {shortage}")]
    NoMemory {
        /// Requested length.
        len: usize,
        /// Resource that is short.
        shortage: Shortage,
        /// Condition to wait for before trying again. `None` if nothing is lent and the peer has
        /// consumed everything: then only this side's own reserved space can be given back.
        until: Option<Want>,
    },
    /// A new segment could not be created.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The session failed.
    #[error(transparent)]
    Socket(#[from] SocketError),
}

impl From<Violation> for SendError {
    fn from(violation: Violation) -> Self {
        Self::Socket(violation.into())
    }
}

/// A loan that was not published, and the reason.
pub(super) struct NotLent {
    pub(super) error: SendError,
    pub(super) loan: Loan,
}
