//! Releases of payload by bits: a reader that no longer needs a payload flips the bit of its lend
//! number, from any thread, and wakes the sender that waits for memory (`docs/abi.md`, sections 4.2
//! and 5).
//!
//! Bits have no order, so the waiter announces no index that could be crossed, but a number that
//! differs for each of its waits, and one ring ends each wait.

use super::offsets::{RELEASE_WAKE_AT, RELEASED_AT};
use super::sync::{
    Arc, AtomicU64, FenceSite, Ordering, acquire_fence, full_fence, release, removed,
};
use super::words::{ForeignWords, OwnWords};

/// Release bits of payload that the peer has lent, and the peer's intent. Any thread may flip.
pub(crate) struct Releases {
    /// This side's control segment: the bits.
    own: OwnWords,
    /// The peer's control segment: its intent.
    peer: ForeignWords,
    /// Number of the peer's wait that was last rung for; 0 if none.
    rung: AtomicU64,
}

impl Releases {
    pub(crate) fn new(own: OwnWords, peer: ForeignWords) -> Self {
        Self { own, peer, rung: AtomicU64::new(0) }
    }

    /// Flips the bit of a payload that this side no longer reads. A full fence and
    /// [`Self::doorbell_due`] must follow.
    pub(crate) fn flip(&self, lend: u16) {
        let word = self.own.word(RELEASED_AT + 8 * usize::from(lend / 64));
        let bit = 1 << (lend % 64);
        // Release: the reads of the payload come before.
        let order = release(FenceSite::FlipStore);
        if removed(FenceSite::FlipOfOneBit) {
            word.store(word.load(Ordering::Relaxed) ^ bit, order);
        } else {
            word.fetch_xor(bit, order);
        }
    }

    /// Returns true if the peer announced that it waits for a release, in a wait that was not rung
    /// for yet. Then the caller must ring. A full fence after the flip must come first.
    pub(crate) fn doorbell_due(&self) -> bool {
        match self.peer.load(RELEASE_WAKE_AT) {
            0 => false,
            // Relaxed: a thread that skips a wait relies on the thread that took it, and each of
            // them has flipped before.
            wait => self.rung.swap(wait, Ordering::Relaxed) != wait,
        }
    }

    /// Notes that ringing failed: the next call of [`Self::doorbell_due`] tries again.
    pub(crate) fn not_rung(&self) {
        self.rung.store(0, Ordering::Relaxed);
    }

    /// Returns true if the peer seems to wait for a release and was not rung for it. Without a
    /// fence this may miss an intent.
    #[inline]
    pub(crate) fn is_awaited(&self) -> bool {
        let wait = self.peer.load(RELEASE_WAKE_AT);
        wait != 0 && wait != self.rung.load(Ordering::Relaxed)
    }

    /// Ends a lease, on any thread: drops the reference to the segment, then flips the bit. Returns
    /// true if the doorbell is due.
    ///
    /// In this order: once the peer sees the release it may retire the segment, and the receiver of
    /// that entry must find no lease in it when it unmaps it.
    pub(crate) fn end_lease<T>(&self, segment: Arc<T>, lend: u16) -> bool {
        if removed(FenceSite::IntentAfterFlip) {
            let due = self.doorbell_due();
            drop(segment);
            self.flip(lend);
            return due;
        }
        if removed(FenceSite::LeaseBeforeFlip) {
            self.flip(lend);
            drop(segment);
        } else {
            drop(segment);
            self.flip(lend);
        }
        full_fence(FenceSite::AfterFlip);
        self.doorbell_due()
    }
}

/// Returns true if no lease in a segment exists, so that it can be unmapped: each lease holds a
/// reference to it.
pub(crate) fn is_unleased<T>(segment: &Arc<T>) -> bool {
    Arc::strong_count(segment) == 1
}

/// Lend numbers that are lent, and those that the peer has released by their bits.
pub(crate) struct Lent {
    /// This side's control segment: its intent.
    own: OwnWords,
    /// The peer's control segment: its release bits.
    peer: ForeignWords,
    /// Lent numbers as bits.
    lent: Vec<u64>,
    /// The peer's release bits as last seen.
    seen: Vec<u64>,
    /// Payloads that have come back so far.
    back: u64,
    /// Number of our last wait for a release.
    wait: u64,
    /// True if the announced intent is that wait.
    announced: bool,
}

impl Lent {
    /// Creates the state for `count` lend numbers, a multiple of 64.
    pub(crate) fn new(own: OwnWords, peer: ForeignWords, count: u32) -> Self {
        let words = vec![0; count as usize / 64];
        Self { own, peer, lent: words.clone(), seen: words, back: 0, wait: 0, announced: false }
    }

    /// Returns true if any payload is lent.
    pub(crate) fn is_any(&self) -> bool {
        self.lent.iter().any(|&word| word != 0)
    }

    /// Notes that space which was never lent has come back from another thread.
    pub(crate) fn note_return(&mut self) {
        self.back += 1;
    }

    /// Returns the number of payloads that have come back so far, by bits and by entries.
    pub(crate) fn back(&self) -> u64 {
        self.back
    }

    /// Notes that a number is lent.
    #[inline]
    pub(crate) fn lend(&mut self, number: u16) {
        self.lent[usize::from(number / 64)] |= 1 << (number % 64);
    }

    /// Notes that the peer has released a number by an entry.
    #[inline]
    pub(crate) fn take_back(&mut self, number: u16) {
        self.lent[usize::from(number / 64)] &= !(1 << (number % 64));
        self.back += 1;
    }

    /// Returns the numbers in a word of bits that are released and were not collected.
    fn released(&self, word: usize) -> u64 {
        match self.lent[word] {
            0 => 0,
            lent => (self.peer.load(RELEASED_AT + 8 * word) ^ self.seen[word]) & lent,
        }
    }

    /// Returns true if the peer has released a number by its bit that was not collected.
    pub(crate) fn has_release(&self) -> bool {
        (0..self.lent.len()).any(|word| self.released(word) != 0)
    }

    /// Takes back every number with a bit that the peer has flipped.
    pub(crate) fn collect(&mut self, mut taken_back: impl FnMut(u16)) {
        self.withdraw();
        for word in 0..self.lent.len() {
            let mut released = self.released(word);
            if released == 0 {
                continue;
            }
            // The peer's reads of the payload come before its flip, and our next writes after this.
            acquire_fence(FenceSite::FlipSeen);
            self.seen[word] ^= released;
            self.lent[word] &= !released;
            self.back += u64::from(released.count_ones());
            while released != 0 {
                taken_back(word as u16 * 64 + released.trailing_zeros() as u16);
                released &= released - 1;
            }
        }
    }

    /// Announces that this side sleeps until something is released. A full fence must follow, after
    /// which the caller checks once more.
    pub(crate) fn arm(&mut self) {
        if !removed(FenceSite::NumberOfEachWait) || self.wait == 0 {
            self.wait += 1;
        }
        self.own.word(RELEASE_WAKE_AT).store(self.wait, Ordering::Relaxed);
        self.announced = true;
    }

    /// Returns true if the peer still rings for the release that the last sleep for memory
    /// announced.
    pub(crate) fn is_announced(&self) -> bool {
        self.announced
    }

    /// Withdraws the intent: releases from now on need not ring.
    fn withdraw(&mut self) {
        if std::mem::take(&mut self.announced) {
            self.own.word(RELEASE_WAKE_AT).store(0, Ordering::Relaxed);
        }
    }
}
