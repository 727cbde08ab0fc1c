//! Atomics that workers share, from `core` or from the model checker.

#[cfg(not(loom))]
pub(super) use core::sync::atomic::{AtomicBool, Ordering, fence};
#[cfg(not(loom))]
pub(super) use std::sync::{Mutex, MutexGuard};

#[cfg(loom)]
pub(super) use loom::sync::atomic::{AtomicBool, Ordering, fence};
#[cfg(loom)]
pub(super) use loom::sync::{Mutex, MutexGuard};

/// Where a fence stands; the model removes each to show that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// Between announcing something and asking whether the worker sleeps.
    AfterAnnouncing,
    /// Between falling asleep and the last poll for what was announced.
    AfterFallingAsleep,
    /// No fence, but as needed: announcing by an exchange instead of a store.
    ExchangeOfFlag,
    /// No fence, but as needed: that poll.
    RecheckBeforeSleeping,
    /// Release of what was found by the signal of it.
    ReleaseOfSignal,
    /// Acquire of that.
    AcquireOfSignal,
}

/// Whether the model has taken this fence away.
#[cfg(loom)]
pub(super) use super::mutants::removed;

/// Nothing is missing outside the model.
#[cfg(not(loom))]
#[inline(always)]
pub(super) const fn removed(_site: Site) -> bool {
    false
}

/// A sequentially consistent fence.
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

/// Locks that this thread has taken for workers.
#[cfg(all(test, not(loom)))]
pub(super) fn locks() -> u64 {
    LOCKS.get()
}

#[cfg(all(test, not(loom)))]
pub(super) fn count_lock() {
    LOCKS.set(LOCKS.get() + 1);
}
