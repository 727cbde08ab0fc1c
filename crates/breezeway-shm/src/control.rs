//! Control segments: the ring, and the state words that each side publishes beside it
//! (`docs/abi.md`, section 3.1).

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use breezeway_os::ForeignDescriptor;
use breezeway_os::segment::{self, SegmentError};

use crate::ring::layout::{
    ABI_VERSION, CONTROL_CAPACITY_AT, CONTROL_LENDS_AT, CONTROL_MAGIC, CONTROL_MAGIC_AT,
    CONTROL_VERSION_AT, DATA_WAKE_AT, NO_WAKE, SPACE_WAKE_AT, control_size,
};
use crate::ring::words::{ForeignWords, OwnWords};

/// This side's control segment: writable here, sealed against all other processes.
pub struct ControlSegment {
    pub(crate) words: OwnWords,
    /// Entries in its ring.
    pub(crate) capacity: u32,
    /// Lend numbers that have a release bit.
    pub(crate) lend_count: u32,
}

impl ControlSegment {
    /// Creates a segment with `capacity` ring entries (a power of two, 8..=65536) and `lend_count`
    /// release bits (a multiple of 64, 64..=1024), and returns it with the descriptor to send to
    /// the peer.
    pub fn create(capacity: u32, lend_count: u32) -> Result<(Self, OwnedFd), SegmentError> {
        let (mapping, fd) = segment::create(control_size(capacity))?;
        let words = OwnWords::new(Arc::new(mapping));
        for (offset, value) in [
            (CONTROL_MAGIC_AT, CONTROL_MAGIC),
            (CONTROL_VERSION_AT, ABI_VERSION),
            (CONTROL_CAPACITY_AT, u64::from(capacity)),
            (CONTROL_LENDS_AT, u64::from(lend_count)),
            (DATA_WAKE_AT, NO_WAKE),
            (SPACE_WAKE_AT, NO_WAKE),
        ] {
            words.word(offset).store(value, Ordering::Relaxed);
        }
        Ok((Self { words, capacity, lend_count }, fd))
    }

    /// Returns true if the segment has this many entries and release bits.
    pub fn is_of(&self, capacity: u32, lend_count: u32) -> bool {
        (self.capacity, self.lend_count) == (capacity, lend_count)
    }
}

/// The peer's control segment, checked and mapped read-only.
pub struct ForeignControl {
    pub(crate) words: ForeignWords,
    /// Entries in its ring, from the hello.
    pub(crate) capacity: u32,
    /// Lend numbers that have a release bit, from the hello.
    pub(crate) lend_count: u32,
}

impl ForeignControl {
    /// Checks and maps the descriptor that the peer sent for a ring of `capacity` entries. The
    /// limits come from the hello, validated by the caller; the segment's own header fields are not
    /// read.
    pub fn accept(
        fd: impl Into<ForeignDescriptor>,
        capacity: u32,
        lend_count: u32,
    ) -> Result<Self, SegmentError> {
        let mapping = segment::accept(fd.into(), control_size(capacity) as u64)?;
        Ok(Self { words: ForeignWords::new(Arc::new(mapping)), capacity, lend_count })
    }
}
