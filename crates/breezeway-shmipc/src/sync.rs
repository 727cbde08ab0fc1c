//! Atomics and the orderings that the queue and the free lists rest on, from `core` or from the
//! model checker.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{Ordering, fence};

/// What the protocol cannot do without; the model removes them one by one to show that each is
/// needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Full fence between the publication of an element and the read of the consumer's working
    /// flag.
    FenceAfterPut,
    /// Full fence between clearing the working flag and the last poll before sleeping.
    FenceAfterRest,
    /// The last poll before sleeping.
    PollAfterRest,
    /// Release of an element by the count of those put.
    ReleaseOfElement,
    /// Linking the slice before last only after the tail was taken over.
    TailBeforeLink,
}

/// Whether the model has taken this step away.
#[cfg(loom)]
pub(crate) use crate::model::removed;

/// No step is ever missing outside the model.
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
