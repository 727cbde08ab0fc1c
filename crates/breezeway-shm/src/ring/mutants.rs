//! Changes that the model checker makes to the ring: the orderings that a mutant lacks, and offsets
//! without gaps.
//!
//! A mutant is the protocol with one thing missing. The model must find it wrong, else it would not
//! notice either if that thing went missing by mistake.

use std::cell::Cell;

use super::sync::FenceSite;

/// Offsets as in `layout`, without the unused words between: the checker keeps a history of every
/// word of its memory.
pub(crate) const CONSUMED_AT: usize = 0;
pub(crate) const DATA_WAKE_AT: usize = 8;
pub(crate) const SPACE_WAKE_AT: usize = 16;
pub(crate) const RELEASE_WAKE_AT: usize = 24;
pub(crate) const RELEASED_AT: usize = 32;
pub(crate) const RING_AT: usize = 40;

/// The part of the protocol that a mutant lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// One ordering in the ring.
    Without(FenceSite),
    /// The check of the wanted condition after the intent was announced.
    Recheck,
    /// Reading the socket empty before the intent is announced: it is read after the last check.
    ReadBeforeIntent,
    /// The check of the first of two intents after the socket was read for the second.
    RecheckOfFirst,
    /// The fence between publishing progress and loading the peer's intent, in a waiter that relies
    /// on its own intent's fence for it.
    SharedFence,
    /// Reading the socket empty after an event of an edge-triggered sleeper.
    ReadAfterEvent,
}

thread_local! {
    // The checker runs all threads of a model as coroutines on the thread that called it, so each
    // test has its own mutant and tests can run in parallel.
    static PRESENT: Cell<Option<Mutant>> = const { Cell::new(None) };
}

/// Runs `model` as the mutant that lacks `what`.
pub(crate) fn without<T>(what: Mutant, model: impl FnOnce() -> T) -> T {
    PRESENT.set(Some(what));
    let result = model();
    PRESENT.set(None);
    result
}

/// Returns true if the present mutant lacks `what`.
pub(crate) fn lacks(what: Mutant) -> bool {
    PRESENT.get() == Some(what)
}

/// Returns true if the present mutant lacks the ordering of `site`.
pub(crate) fn removed(site: FenceSite) -> bool {
    lacks(Mutant::Without(site))
}
