//! Space for one message: why there may be none, and how it is filled.

use thiserror::Error;

use crate::doorbell::SocketError;
use crate::foreign::ForeignBytes;
use crate::payload::lender::Loan;
use crate::payload::shortage::Shortage;
use crate::violation::Violation;
use breezeway_os::copy::{PREFETCHED_UP_TO, STREAM_FROM, claim_and_copy};
use breezeway_os::segment::SegmentError;

/// Why space for a message could not be had. Nothing was taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReserveError {
    /// The message is larger than the session allows.
    #[error(
        "a message of {len} bytes exceeds the session's cap of {cap} bytes; raise the cap on both sides"
    )]
    TooLarge {
        /// Length asked for.
        len: usize,
        /// The cap: the smaller of both sides' settings.
        cap: usize,
    },
    /// There is no payload memory at the moment. There will be when the peer has released, or consumed, more.
    #[error("no payload memory for {len} bytes: {shortage}")]
    NoMemory {
        /// Length asked for.
        len: usize,
        /// What is short.
        shortage: Shortage,
    },
    /// A new segment could not be created.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// A new segment could not be handed over.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// This is a forked child of the process that opened the session.
    #[error("a session cannot be used in a forked child; open one there")]
    Forked,
}

impl From<Violation> for ReserveError {
    fn from(violation: Violation) -> Self {
        Self::Socket(violation.into())
    }
}

/// Space reserved for one message: private until it is published, or payload memory.
#[derive(Debug)]
pub struct Space(pub(super) Place);

#[derive(Debug)]
pub(super) enum Place {
    /// In the endpoint's staging place, of which there is one.
    Inline(usize),
    Payload(Loan),
    /// Lent or given back.
    Spent,
}

impl Space {
    /// No space: what is left after publishing.
    pub const fn none() -> Self {
        Self(Place::Spent)
    }

    /// Its length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Place::Inline(len) => *len,
            Place::Payload(loan) => loan.len,
            Place::Spent => 0,
        }
    }

    /// Whether it has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Large payloads for a distant peer are written past the caches, however small the pieces they are written in.
#[inline]
pub(super) fn fill(space: &mut [u8], offset: usize, bytes: ForeignBytes<'_>, far: bool) {
    let size = space.len();
    let to = &mut space[offset..][..bytes.len()];
    if far && size >= STREAM_FROM {
        bytes.stream_to(to);
    } else if size > PREFETCHED_UP_TO {
        claim_and_copy(to, |at, piece| bytes.slice(at..at + piece.len()).copy_to(piece));
    } else {
        bytes.copy_to(to);
    }
}
