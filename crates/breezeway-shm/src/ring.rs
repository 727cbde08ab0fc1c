//! The ring of entries: one producing process, one consuming process, nothing written by both.
//!
//! The producer's tail is nowhere in shared memory: each entry's sequence word says whether it is committed (the idea of LMAX's and
//! Vyukov's bounded queues, with a single writer per side). The consumer's progress lies in the consumer's own segment. Sleeping follows virtio's
//! event index (VIRTIO 1.2, section 2.7.10): a waiter announces the index at which it wants to be woken and never takes that back.

use crate::entry::{Entry, Head};
use crate::layout::{BODY_WORD, ENTRY_SIZE, FIRST_LINE_WORDS, INLINE_FIRST_LINE, INLINE_MAX};
#[cfg(not(loom))]
use crate::layout::{CONSUMED_AT, DATA_WAKE_AT, RING_AT, SPACE_WAKE_AT};
use crate::sync::{FenceSite, Ordering, acquire_fence, full_fence, release, removed};
use crate::violation::Violation;
use crate::words::{ForeignWords, OwnWords};

#[cfg(loom)]
#[path = "ring_mutants.rs"]
pub(crate) mod mutants;
#[cfg(loom)]
use mutants::{CONSUMED_AT, DATA_WAKE_AT, RING_AT, SPACE_WAKE_AT};

/// Whether an advance from `old` to `new` passes the index `wake`.
#[inline(always)]
fn crossed(wake: u64, old: u64, new: u64) -> bool {
    new.wrapping_sub(wake).wrapping_sub(1) < new.wrapping_sub(old)
}

/// Slots whose lines are claimed together in a batch.
const CLAIMED: u64 = if cfg!(loom) { 1 } else { 8 };

/// Word `index` of an inline body, zero behind its end.
#[inline(always)]
fn word_at(body: &[u8], index: usize) -> u64 {
    let rest = body.get(8 * index..).unwrap_or_default();
    match rest.first_chunk() {
        Some(whole) => u64::from_le_bytes(*whole),
        None if rest.is_empty() => 0,
        None => last_word(rest),
    }
}

/// A word of fewer than eight bytes.
#[inline(never)]
fn last_word(rest: &[u8]) -> u64 {
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Why an entry could not be published.
#[derive(Debug)]
pub(crate) enum PublishFailure {
    /// The peer has not consumed enough.
    Full,
    /// The peer's progress makes no sense.
    Violation(Violation),
}

/// The producing end of our ring.
pub(crate) struct Producer {
    /// Our control segment.
    own: OwnWords,
    /// The peer's control segment: its progress and intent.
    peer: ForeignWords,
    mask: u64,
    /// Position of the next entry.
    tail: u64,
    /// Positions below were compared with the peer's intent.
    announced: u64,
    /// What the peer is known to have consumed.
    consumed: u64,
    /// Whether many entries will follow each other: see [`Self::set_batching`].
    batching: bool,
}

impl Producer {
    /// The producer of the ring in `own`, which has `capacity` entries.
    pub(crate) fn new(own: OwnWords, peer: ForeignWords, capacity: u32) -> Self {
        assert!(capacity.is_power_of_two());
        Self {
            own,
            peer,
            mask: u64::from(capacity) - 1,
            tail: 0,
            announced: 0,
            consumed: 0,
            batching: false,
        }
    }

    /// Entries published so far.
    #[inline]
    pub(crate) fn published(&self) -> u64 {
        self.tail
    }

    /// What the peer has consumed, as far as is known.
    pub(crate) fn known_consumed(&self) -> u64 {
        self.consumed
    }

    /// Free slots, as far as is known without a look at the peer's line. The peer may meanwhile consume more.
    #[inline]
    pub(crate) fn known_space(&self) -> u64 {
        self.mask + 1 - (self.tail - self.consumed)
    }

    /// Entries that the ring holds.
    pub(crate) fn capacity(&self) -> u64 {
        self.mask + 1
    }

    /// Reads the peer's progress and judges it by its distance.
    pub(crate) fn refresh(&mut self) -> Result<(), Violation> {
        let found = self.peer.load(CONSUMED_AT);
        acquire_fence(FenceSite::ConsumedSeen);
        if found.wrapping_sub(self.consumed) > self.tail - self.consumed {
            return Err(Violation::Consumed {
                found,
                consumed: self.consumed,
                published: self.tail,
            });
        }
        self.consumed = found;
        Ok(())
    }

    /// Publishes one entry; a spinning peer sees it at once, a sleeping one after [`Self::doorbell_due`]. `body` is at most 104 bytes.
    ///
    /// Its words go from the slice to the ring without a stop: each store waits until its line is ours again, and the fewer stores wait behind it, the more lines can be
    /// asked for at once (measured: a message costs 36 ns instead of 44).
    #[inline(always)]
    pub(crate) fn publish(
        &mut self,
        head: Head,
        released: u16,
        body: &[u8],
    ) -> Result<(), PublishFailure> {
        if self.batching && self.tail.is_multiple_of(CLAIMED) {
            self.claim_lines().map_err(PublishFailure::Violation)?;
        }
        if self.known_space() == 0 {
            self.refresh().map_err(PublishFailure::Violation)?;
            if self.known_space() == 0 {
                return Err(PublishFailure::Full);
            }
        }
        assert!(body.len() <= INLINE_MAX);
        let slot = self.own.entry(RING_AT + (self.tail & self.mask) as usize * ENTRY_SIZE);
        let [first, second] = head.to_words(body.len(), released);
        slot[1].store(first, Ordering::Relaxed);
        slot[2].store(second, Ordering::Relaxed);
        let (first_line, second_line) = slot[BODY_WORD..].split_at(FIRST_LINE_WORDS - BODY_WORD);
        for (index, word) in first_line.iter().enumerate() {
            word.store(word_at(body, index), Ordering::Relaxed);
        }
        if body.len() > INLINE_FIRST_LINE {
            for (index, word) in second_line.iter().enumerate() {
                word.store(word_at(body, first_line.len() + index), Ordering::Relaxed);
            }
        }
        // Release: the entry's words before, and the payload bytes that a descriptor names, are visible to whoever sees the sequence.
        slot[0].store(self.tail + 1, release(FenceSite::SequenceStore));
        self.tail += 1;
        Ok(())
    }

    /// Says whether many entries will follow each other.
    pub(crate) fn set_batching(&mut self, batching: bool) {
        self.batching = batching;
    }

    /// Takes the lines of some free slots back from the peer's cache together. A store waits until its line is ours, and stores are made in order, so entries written
    /// one by one wait for one line after the other; these stores stand so close to each other that the processor asks for all the lines at once.
    fn claim_lines(&mut self) -> Result<(), Violation> {
        if self.known_space() < CLAIMED {
            self.refresh()?;
        }
        if self.known_space() >= CLAIMED || removed(FenceSite::ClaimOfFreeSlots) {
            for position in self.tail..self.tail + CLAIMED {
                let slot = RING_AT + (position & self.mask) as usize * ENTRY_SIZE;
                self.own.entry(slot)[1].store(0, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Whether the peer announced to sleep on something published since the last call. A full fence after the publication comes first.
    #[inline(always)]
    pub(crate) fn doorbell_due(&mut self) -> bool {
        let due = crossed(self.peer.load(DATA_WAKE_AT), self.announced, self.tail);
        self.announced = self.tail;
        due
    }

    /// Announces that this side sleeps until the peer has consumed more than `consumed` entries, and makes the fence
    /// after which the caller must look once more.
    pub(crate) fn arm_space(&self, consumed: u64) {
        self.own.word(SPACE_WAKE_AT).store(consumed, Ordering::Relaxed);
        full_fence(FenceSite::AfterIntent);
    }
}

/// The consuming end of the peer's ring.
pub(crate) struct Consumer {
    /// The peer's control segment: the ring and its intent.
    peer: ForeignWords,
    /// Our control segment: our progress and intent.
    own: OwnWords,
    mask: u64,
    /// Position of the next entry to consume.
    head: u64,
    /// Progress that the peer can see.
    published: u64,
    /// Progress that was compared with the peer's intent.
    announced: u64,
}

impl Consumer {
    /// The consumer of the ring in `peer`, which has `capacity` entries (as the hello said and was checked).
    pub(crate) fn new(peer: ForeignWords, own: OwnWords, capacity: u32) -> Self {
        assert!(capacity.is_power_of_two());
        Self { peer, own, mask: u64::from(capacity) - 1, head: 0, published: 0, announced: 0 }
    }

    #[inline(always)]
    fn slot(&self) -> usize {
        RING_AT + (self.head & self.mask) as usize * ENTRY_SIZE
    }

    /// Whether the next entry is committed. The peer may commit it at any moment.
    #[inline(always)]
    pub(crate) fn ready(&self) -> Result<bool, Violation> {
        let sequence = self.peer.load(self.slot());
        if sequence == self.head + 1 {
            return Ok(true);
        }
        let capacity = self.mask + 1;
        let previous = (self.head + 1).saturating_sub(capacity);
        if sequence == previous { Ok(false) } else { Err(self.out_of_step(sequence)) }
    }

    #[cold]
    fn out_of_step(&self, found: u64) -> Violation {
        Violation::Sequence { position: self.head, found }
    }

    /// Copies the next entry, if it is committed, into private memory; it is not consumed before [`Self::advance`].
    #[inline(always)]
    pub(crate) fn peek(&self, entry: &mut Entry) -> Result<bool, Violation> {
        if !self.ready()? {
            return Ok(false);
        }
        // Pairs with the producer's release store of the sequence, which the relaxed load in `ready` has seen.
        acquire_fence(FenceSite::SequenceSeen);
        let slot = self.peer.entry(self.slot());
        slot.copy_first_line(&mut entry.words);
        let len = entry.inline_len();
        if len > INLINE_FIRST_LINE {
            if len > INLINE_MAX {
                return Err(Violation::InlineLength { position: self.head, len });
            }
            slot.copy_second_line(&mut entry.words);
        }
        Ok(true)
    }

    /// Consumes the current entry. True if the peer should now be told, because a quarter of the ring is untold or it announced to wait for this:
    /// then [`Self::publish_progress`], a full fence and [`Self::doorbell_due`] must follow.
    #[inline(always)]
    pub(crate) fn advance(&mut self) -> bool {
        self.head += 1;
        let quarter = (self.mask + 1) / 4;
        self.head - self.published >= quarter
            || crossed(self.peer.load(SPACE_WAKE_AT), self.published, self.head)
    }

    /// Whether the peer can see all that was consumed.
    #[inline(always)]
    pub(crate) fn is_told(&self) -> bool {
        self.published == self.head
    }

    /// Lets the peer see what was consumed. Releases of payload in those entries come first.
    #[inline(always)]
    pub(crate) fn publish_progress(&mut self) {
        if self.published != self.head {
            // Release: our reads of the consumed entries, and releases of their payload, come before the peer writes there again.
            self.own.word(CONSUMED_AT).store(self.head, release(FenceSite::ConsumedStore));
            self.published = self.head;
        }
    }

    /// Whether the peer announced to sleep on progress published since the last call. A full fence after the publication comes first.
    #[inline(always)]
    pub(crate) fn doorbell_due(&mut self) -> bool {
        let due = crossed(self.peer.load(SPACE_WAKE_AT), self.announced, self.published);
        self.announced = self.published;
        due
    }

    /// Announces that this side sleeps until the next entry is committed, and makes the fence after which the caller must look once more.
    pub(crate) fn arm_data(&self) {
        self.own.word(DATA_WAKE_AT).store(self.head, Ordering::Relaxed);
        full_fence(FenceSite::AfterIntent);
    }
}

#[cfg(test)]
mod tests {
    use super::{crossed, word_at};
    use crate::layout::NO_WAKE;

    #[test]
    fn words_of_a_body_are_zero_behind_its_end() {
        let body: Vec<u8> = (1..=20).collect();
        assert_eq!(word_at(&body, 0), 0x0807_0605_0403_0201);
        assert_eq!(word_at(&body, 2), 0x1413_1211);
        assert_eq!(word_at(&body, 3), 0);
        assert_eq!(word_at(&[], 0), 0);
    }

    #[test]
    fn an_index_is_crossed_by_the_advance_that_passes_it_and_by_no_other() {
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
