//! Violations of the ABI by a peer: one variant per rule, so that a log line names the attack.

use thiserror::Error;

use crate::ring::layout::{INLINE_MAX, MAX_PENDING_SEGMENTS};
#[cfg(not(loom))]
use breezeway_os::segment::SegmentError;

/// The peer broke a rule of the ABI. It ends this session and harms no other.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Violation {
    /// A sequence word is neither the previous lap's nor the next.
    #[error("entry {position} carries sequence {found}, which is neither its previous value nor \
        {}", position + 1)]
    Sequence {
        /// Position of the entry.
        position: u64,
        /// Value of its sequence word.
        found: u64,
    },
    /// The inline length is larger than an entry's body.
    #[error("entry {position} claims {len} inline bytes; an entry holds {INLINE_MAX}")]
    InlineLength {
        /// Position of the entry.
        position: u64,
        /// The claimed length.
        len: usize,
    },
    /// `consumed` went back, or past what was published.
    #[error("the peer reports consumption up to {found}, but {consumed}..={published} is possible")]
    Consumed {
        /// The value found.
        found: u64,
        /// The last value the peer published.
        consumed: u64,
        /// Number of entries published.
        published: u64,
    },
    /// A released lend number that is not lent.
    #[error("lend number {0} was released but is not lent")]
    Release(u16),
    /// A descriptor with a lend number past the agreed count.
    #[error("descriptor with lend number {lend}; the hello allows {count}")]
    LendNumber {
        /// The number in the descriptor.
        lend: u32,
        /// The agreed count.
        count: u32,
    },
    /// A descriptor of a segment that is not mapped.
    #[error("descriptor names segment {0}, which is not mapped")]
    UnknownSegment(u32),
    /// A descriptor that reaches outside its segment, or is empty.
    #[error("descriptor names {len} bytes at {offset} of a segment of {size}")]
    Descriptor {
        /// Offset in the descriptor.
        offset: u64,
        /// Length in the descriptor.
        len: u64,
        /// The segment's size.
        size: usize,
    },
    /// A descriptor of more bytes than a message may have.
    #[error("descriptor names {len} bytes; the hellos agree on messages of {cap} at most")]
    TooLong {
        /// Length in the descriptor.
        len: u64,
        /// The agreed cap.
        cap: u64,
    },
    /// A body of another length than its kind of entry has.
    #[error("an entry's body has {found} bytes where it has {expected}")]
    BodyLength {
        /// Length found.
        found: usize,
        /// Length required.
        expected: usize,
    },
    /// More payload segments than allowed.
    #[error("more than {0} payload segments at the same time")]
    SegmentCount(usize),
    /// A segment that is retired while payload in it is lent.
    #[error("segment {0} was retired, but payload in it is lent and not released")]
    RetiredWhileLent(u32),
    /// A segment entry of the wrong form.
    #[error("segment entry names number {found}, expected {expected}")]
    SegmentNumber {
        /// Number in the entry.
        found: u32,
        /// Number that must come next.
        expected: u32,
    },
    /// Segments that sum up to more than the agreed cap.
    #[error("a segment of {size} bytes takes the sum over the agreed cap of {cap} bytes")]
    SegmentSum {
        /// Size of the new segment.
        size: u64,
        /// The cap from the hello.
        cap: u64,
    },
    /// A `segment add` entry without its descriptor on the socket.
    #[error("a segment was announced, but its file descriptor was not sent before")]
    SegmentMissing,
    /// More unannounced segments than a sender may have.
    #[error(
        "{count} segments of {bytes} bytes are pending; at most {MAX_PENDING_SEGMENTS}, of {limit} \
         bytes, may be"
    )]
    PendingSegments {
        /// Their number.
        count: usize,
        /// Sum of their sizes.
        bytes: u64,
        /// The limit of that sum.
        limit: u64,
    },
    /// A segment that violates the ABI's requirements.
    #[cfg(not(loom))]
    #[error("unfit segment: {0}")]
    Segment(#[from] SegmentError),
    /// A byte on the socket that is neither doorbell nor segment.
    #[error("byte {0:#04x} on the session socket")]
    SocketByte(u8),
    /// Unexpected file descriptors.
    #[error("unexpected file descriptors on the session socket")]
    UnwantedDescriptors,
}
