//! Why a message was not sent.

use breezeway_os::segment::SegmentError;
use thiserror::Error;

use crate::doorbell::SocketError;
use crate::payload::shortage::Shortage;
use crate::ring::Want;
use crate::violation::Violation;

/// Why a message was not sent, or space for it not reserved. Nothing was published, nothing taken.
#[derive(Debug, Error)]
pub enum SendError {
    /// The peer has to consume first: the ring is full.
    #[error("the ring is full: {unconsumed} entries are not consumed; wait until the peer has")]
    Full {
        /// Entries that the peer has not consumed.
        unconsumed: usize,
        /// What to wait for before sending again: a quarter of them.
        until: Want,
    },
    /// The message is larger than the session allows.
    #[error(
        "a message of {len} bytes exceeds the session's cap of {cap} bytes; raise the cap on both \
         sides"
    )]
    TooLarge {
        /// Length asked for.
        len: usize,
        /// The cap: the smaller of both sides' settings.
        cap: usize,
    },
    /// There is no payload memory at the moment. There will be when the peer has released more, or,
    /// for one more segment, consumed more.
    #[error("no payload memory for {len} bytes: {shortage}")]
    NoMemory {
        /// Length asked for.
        len: usize,
        /// What is short.
        shortage: Shortage,
        /// What to wait for before trying again. `None` if nothing is lent and the peer has
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
