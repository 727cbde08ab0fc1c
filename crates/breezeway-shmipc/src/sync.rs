//! Atomics and orderings of queue, free lists and watched ranges, and the lock of the followers,
//! from `core` and `std` or from the model checker.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicUsize, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Step that the protocol needs; the model removes them one by one to show that each is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Full fence between the publication of an element and the read of the consumer's working
    /// flag.
    FenceAfterPut,
    /// Full fence between clearing the working flag and the last poll before sleeping.
    FenceAfterRest,
    /// The last poll before sleeping.
    PollAfterRest,
    /// Release of an element by the count of elements put.
    ReleaseOfElement,
    /// Linking the slice before last only after the tail was taken over.
    TailBeforeLink,
    /// Release fence behind a watched range's odd version.
    FenceBehindOdd,
    /// Release store of its even version.
    ReleaseOfRange,
    /// Acquire load of that version.
    AcquireOfRange,
    /// Acquire fence between a range and the second read of its version.
    FenceBehindRange,
    /// Trying to lead once more after joining the followers.
    TryAfterJoining,
    /// Waking the next leader.
    NameTheNext,
}

/// Returns true if the model has removed this step.
#[cfg(loom)]
pub(crate) use crate::model::removed;

/// Returns false: no step is missing outside the model.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn removed(_step: Step) -> bool {
    false
}

/// A sequentially consistent fence: no load after it is satisfied before the stores before it are
/// visible to all.
#[inline(always)]
pub(crate) fn full_fence(step: Step) {
    if !removed(step) {
        fence(Ordering::SeqCst);
    }
}

/// Returns the ordering of a store that publishes the operations before it.
#[inline(always)]
pub(crate) fn release(step: Step) -> Ordering {
    if removed(step) { Ordering::Relaxed } else { Ordering::Release }
}

/// Returns the ordering of a load that sees published operations.
#[inline(always)]
pub(crate) fn acquire(step: Step) -> Ordering {
    if removed(step) { Ordering::Relaxed } else { Ordering::Acquire }
}
