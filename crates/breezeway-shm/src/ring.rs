//! The ring of entries: one producing process, one consuming process, nothing written by both.
//!
//! The producer's tail is not in shared memory: each entry's sequence word shows whether it is
//! committed (the idea of LMAX's and Vyukov's bounded queues, with a single writer per side). The
//! consumer's progress lies in the consumer's own segment. Sleeping follows virtio's event index
//! (VIRTIO 1.2, section 2.7.10): a waiter announces the index at which it wants to be woken and
//! never withdraws it.
//!
//! This module and its children use no operating system, so the model checker runs this very code.

mod consumer;
mod duplex;
mod entry;
pub mod layout;
mod producer;
pub(crate) mod release;
pub(crate) mod sync;
pub(crate) mod words;

#[cfg(all(test, loom))]
pub(crate) mod model;
#[cfg(loom)]
pub(crate) mod mutants;

/// Offsets of the words of a control segment; the model checker packs them.
mod offsets {
    #[cfg(not(loom))]
    pub(super) use super::layout::{
        CONSUMED_AT, DATA_WAKE_AT, RELEASE_WAKE_AT, RELEASED_AT, RING_AT, SPACE_WAKE_AT,
    };
    #[cfg(loom)]
    pub(super) use super::mutants::{
        CONSUMED_AT, DATA_WAKE_AT, RELEASE_WAKE_AT, RELEASED_AT, RING_AT, SPACE_WAKE_AT,
    };
}

pub(crate) use consumer::Consumer;
pub(crate) use duplex::Duplex;
pub use duplex::Want;
pub use entry::{Entry, Head};
pub(crate) use producer::{Producer, PublishFailure};
pub(crate) use release::{Lent, Releases};

/// Returns true if an advance from `old` to `new` passes the index `wake`.
#[inline(always)]
fn crossed(wake: u64, old: u64, new: u64) -> bool {
    new.wrapping_sub(wake).wrapping_sub(1) < new.wrapping_sub(old)
}

#[cfg(test)]
mod tests {
    use super::crossed;
    use super::layout::NO_WAKE;

    #[test]
    fn index_is_crossed_only_by_the_advance_past_it() {
        for (wake, old, new, expected) in [
            (5, 5, 6, true),
            (5, 0, 6, true),
            (5, 0, 5, false),
            (5, 6, 7, false),
            (5, 5, 5, false),
            (NO_WAKE, 0, 1, false),
            (NO_WAKE, 0, 1 << 40, false),
            (u64::MAX - 1, u64::MAX - 1, 1, true),
        ] {
            assert_eq!(crossed(wake, old, new), expected, "{wake} by {old}..{new}");
        }
    }
}
