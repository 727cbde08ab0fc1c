//! Atomics and the orderings that the ring rests on, from `core` or from the model checker.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::Arc;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::Arc;

/// Place of an ordering that the ring, or the statistics, needs. The models remove them one by one
/// to show that each is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FenceSite {
    /// Full fence between a publication (an entry or `consumed`) and the load of the peer's intent.
    AfterPublish,
    /// Full fence between announcing an intent and the last check before sleeping.
    AfterIntent,
    /// Release store of an entry's sequence.
    SequenceStore,
    /// Acquire fence after a sequence was seen.
    SequenceSeen,
    /// Release store of `consumed`.
    ConsumedStore,
    /// Acquire fence after the peer's `consumed` was seen.
    ConsumedSeen,
    /// Release flip of a release bit.
    FlipStore,
    /// Acquire fence after a flipped bit was seen.
    FlipSeen,
    /// Full fence between a flip and the load of the peer's intent.
    AfterFlip,
    /// No fence, but also needed: a flip changes one bit, even if other threads flip others of its
    /// word.
    FlipOfOneBit,
    /// No fence, but also needed: the peer's intent is loaded after the flip.
    IntentAfterFlip,
    /// No fence, but also needed: a lease's reference to its segment is dropped before its bit is
    /// flipped.
    LeaseBeforeFlip,
    /// No fence, but also needed: each wait for a release has a number of its own.
    NumberOfEachWait,
    /// No fence, but also needed: a release that waits for an entry is flipped before a wait.
    HiddenRelease,
    /// No fence, but also needed: the check that only free slots are claimed for a batch.
    ClaimOfFreeSlots,
    /// No fence, but also needed: the publication of progress by a consumer that is about to wait.
    ProgressBeforeWaiting,
    /// Acquire of a statistics record that is taken.
    RecordTaken,
    /// Release of a record that is given back.
    RecordGivenBack,
    /// Release fence behind the odd sequence of a record, before its words are written.
    SequenceIsOdd,
    /// Release store of the even sequence of a record whose words are written.
    RecordDescribed,
}

/// Returns true if the model has removed the ordering of this site.
#[cfg(loom)]
pub(crate) use super::mutants::removed;

/// Returns false: no ordering is missing outside the model.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn removed(_site: FenceSite) -> bool {
    false
}

/// A sequentially consistent fence: no load after it is satisfied before the stores before it are
/// visible to all.
#[inline(always)]
pub(crate) fn full_fence(site: FenceSite) {
    if !removed(site) {
        fence(Ordering::SeqCst);
    }
}

/// An acquire fence: what the store that was seen released is visible to the loads after it.
#[inline(always)]
pub(crate) fn acquire_fence(site: FenceSite) {
    if !removed(site) {
        fence(Ordering::Acquire);
    }
}

/// Returns the ordering of a store that publishes the stores before it.
#[inline(always)]
pub(crate) fn release(site: FenceSite) -> Ordering {
    if removed(site) { Ordering::Relaxed } else { Ordering::Release }
}

/// Returns the ordering of a read-modify-write that follows the stores released there.
#[inline(always)]
pub(crate) fn acquire(site: FenceSite) -> Ordering {
    if removed(site) { Ordering::Relaxed } else { Ordering::Acquire }
}
