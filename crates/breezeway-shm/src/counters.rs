//! Counters in our control segment, which a tool can map read-only. One writing thread at a time,
//! so a counter is a plain load and store.

use crate::ring::layout::COUNTERS_AT;
use crate::ring::words::OwnWords;
use std::sync::atomic::Ordering;

/// Indexes of the counters, in the order of `docs/abi.md`, section 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Counter {
    EntriesPublished,
    PayloadBytesLent,
    DoorbellsRung,
    Sleeps,
    SegmentBytes,
    RingFull,
    NoMemory,
    SegmentsAdded,
}

/// Counters of this side's control segment.
pub(crate) struct Counters(OwnWords);

impl Counters {
    pub(crate) fn new(own: OwnWords) -> Self {
        Self(own)
    }

    /// Sets `counter` to `value`.
    #[inline]
    pub(crate) fn set(&self, counter: Counter, value: u64) {
        self.0.word(COUNTERS_AT + 8 * counter as usize).store(value, Ordering::Relaxed);
    }

    /// Returns the value of `counter`.
    #[inline]
    pub(crate) fn get(&self, counter: Counter) -> u64 {
        self.0.word(COUNTERS_AT + 8 * counter as usize).load(Ordering::Relaxed)
    }

    /// Adds `amount` to `counter`.
    #[inline]
    pub(crate) fn add(&self, counter: Counter, amount: u64) {
        self.set(counter, self.get(counter).wrapping_add(amount));
    }
}
