//! Atomics that workers share, from `core` or from the model checker.

#[cfg(not(loom))]
pub(super) use core::sync::atomic::{AtomicBool, Ordering, fence};
#[cfg(not(loom))]
pub(super) use std::sync::{Mutex, MutexGuard};

#[cfg(loom)]
pub(super) use loom::sync::atomic::{AtomicBool, Ordering, fence};
#[cfg(loom)]
pub(super) use loom::sync::{Mutex, MutexGuard};

/// Sites of fences; the model removes each to show that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// Between an announcement and the check of the worker's sleep.
    AfterAnnouncing,
    /// Between the start of the sleep and the last poll for announcements.
    AfterFallingAsleep,
    /// Not a fence, but equally required: announcing by an exchange instead of a store.
    ExchangeOfFlag,
    /// Not a fence, but equally required: that poll.
    RecheckBeforeSleeping,
    /// Release of the finding by its signal.
    ReleaseOfSignal,
    /// Acquire of the finding by its signal.
    AcquireOfSignal,
}

/// Returns true if the model has removed this fence.
#[cfg(loom)]
pub(super) use super::mutants::removed;

/// Returns false: nothing is removed outside the model.
#[cfg(not(loom))]
#[inline(always)]
pub(super) const fn removed(_site: Site) -> bool {
    false
}

/// Makes a sequentially consistent fence.
#[inline(always)]
pub(super) fn full_fence(site: Site) {
    if !removed(site) {
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, not(loom)))]
thread_local! {
    static LOCKS: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Returns the number of locks that this thread has taken for workers.
#[cfg(all(test, not(loom)))]
pub(crate) fn locks() -> u64 {
    LOCKS.get()
}

#[cfg(all(test, not(loom)))]
pub(crate) fn count_lock() {
    LOCKS.set(LOCKS.get() + 1);
}
