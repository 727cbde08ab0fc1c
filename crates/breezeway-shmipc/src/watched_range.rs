//! A range of addresses that a signal handler reads while its holder may be changing it.

use crate::sync::{AtomicUsize, Ordering, Step, acquire, fence, release, removed};

/// Start and length, and a version that is odd while they are being changed (`model.rs`).
pub(crate) struct WatchedRange {
    version: AtomicUsize,
    start: AtomicUsize,
    len: AtomicUsize,
}

impl WatchedRange {
    /// Creates an empty range.
    pub(crate) fn new() -> Self {
        let [version, start, len] = [0, 0, 0].map(AtomicUsize::new);
        Self { version, start, len }
    }

    /// Sets the range. Only its holder does; readers see the odd version and skip the range.
    pub(crate) fn set(&self, start: usize, len: usize) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        if !removed(Step::FenceBehindOdd) {
            fence(Ordering::Release);
        }
        self.start.store(start, Ordering::Relaxed);
        self.len.store(len, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), release(Step::ReleaseOfRange));
    }

    /// Returns start and length if they are not being changed. The range of a region in which a
    /// thread faults is not being changed, because that thread holds the region.
    pub(crate) fn get(&self) -> Option<(usize, usize)> {
        let before = self.version.load(acquire(Step::AcquireOfRange));
        let range = (self.start.load(Ordering::Relaxed), self.len.load(Ordering::Relaxed));
        if !removed(Step::FenceBehindRange) {
            fence(Ordering::Acquire);
        }
        let unchanged = before.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == before;
        unchanged.then_some(range)
    }
}
