//! Ownership of a record from one session to the next, and the sequence that marks it as complete.
//!
//! A record's sequence is even while a session has it, and odd while none has; it is 0 before the
//! first. A reader that finds the same even number before and behind its copy has copied one
//! session's words (`lifetime/model.rs`).

use crate::ring::sync::{AtomicU64, FenceSite, Ordering, acquire, fence, release, removed};

/// Takes the first free record, of those that have a bit here.
pub(super) fn take(taken: &[AtomicU64]) -> Option<usize> {
    for (index, word) in taken.iter().enumerate() {
        let mut bits = word.load(Ordering::Relaxed);
        while bits != u64::MAX {
            let free = (!bits).trailing_zeros();
            // Acquire: the last owner's writes to the record come before.
            let order = acquire(FenceSite::RecordTaken);
            match word.compare_exchange(bits, bits | 1 << free, order, Ordering::Relaxed) {
                Ok(_) => return Some(64 * index + free as usize),
                Err(now) => bits = now,
            }
        }
    }
    None
}

/// Gives a record back.
pub(super) fn give_back(taken: &[AtomicU64], record: usize) {
    let order = release(FenceSite::RecordGivenBack);
    taken[record / 64].fetch_and(!(1 << (record % 64)), order);
}

/// Lets the new owner of a record write its words.
pub(super) fn describe(sequence: &AtomicU64, words: impl FnOnce()) {
    // Odd or 0 while it is free: the words are not read as valid before the sequence is even.
    let before = sequence.load(Ordering::Relaxed);
    if !removed(FenceSite::SequenceIsOdd) {
        fence(Ordering::Release);
    }
    words();
    sequence.store((before | 1).wrapping_add(1), release(FenceSite::RecordDescribed));
}

/// Marks the record as ended: its owner writes nothing more.
pub(super) fn end(sequence: &AtomicU64) {
    let ended = sequence.load(Ordering::Relaxed).wrapping_add(1);
    sequence.store(ended, Ordering::Release);
}

#[cfg(all(test, loom))]
mod model;
