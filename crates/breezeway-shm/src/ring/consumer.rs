//! The consuming end of a ring.

use super::crossed;
use super::entry::Entry;
use super::layout::{ENTRY_SIZE, INLINE_FIRST_LINE, INLINE_MAX};
use super::offsets::{CONSUMED_AT, DATA_WAKE_AT, RING_AT, SPACE_WAKE_AT};
use super::sync::{FenceSite, Ordering, acquire_fence, release};
use super::words::{ForeignWords, OwnWords};
use crate::violation::Violation;

/// Run of entries found committed after which the lines of later ones are prefetched: handling an
/// entry takes too many instructions for the processor to reach the next one out of order. Not
/// earlier, because prefetching a line that the producer is about to write takes it away for
/// nothing.
const LONG_RUN: u64 = 8;
/// Distance of the prefetch, in entries.
const AHEAD: u64 = 8;

/// The consuming end of the peer's ring.
pub(crate) struct Consumer {
    /// The peer's control segment: the ring and its intent.
    peer: ForeignWords,
    /// This side's control segment: progress and intent.
    own: OwnWords,
    mask: u64,
    /// Position of the next entry to consume.
    head: u64,
    /// Progress that the peer can see.
    published: u64,
    /// Progress that was compared with the peer's intent.
    announced: u64,
    /// Consecutive entries that were committed when they were polled for.
    run: u64,
}

impl Consumer {
    /// Creates the consumer of the ring in `peer`, which has `capacity` entries (from the hello,
    /// validated).
    pub(crate) fn new(peer: ForeignWords, own: OwnWords, capacity: u32) -> Self {
        assert!(capacity.is_power_of_two());
        Self {
            peer,
            own,
            mask: u64::from(capacity) - 1,
            head: 0,
            published: 0,
            announced: 0,
            run: 0,
        }
    }

    /// Returns the capacity of the ring, in entries.
    pub(crate) fn capacity(&self) -> u64 {
        self.mask + 1
    }

    #[inline(always)]
    fn slot(&self) -> usize {
        self.slot_of(self.head)
    }

    #[inline(always)]
    fn slot_of(&self, position: u64) -> usize {
        RING_AT + (position & self.mask) as usize * ENTRY_SIZE
    }

    /// Returns true if the next entry is committed. The peer may commit it at any moment.
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

    /// Copies the next entry, if it is committed, into private memory. It is not consumed before
    /// [`Self::advance`].
    #[inline(always)]
    pub(crate) fn peek(&mut self, entry: &mut Entry) -> Result<bool, Violation> {
        if !self.ready()? {
            self.run = 0;
            return Ok(false);
        }
        if self.run >= LONG_RUN {
            self.peer.prefetch_entry(self.slot_of(self.head + AHEAD));
        }
        // Pairs with the producer's release store of the sequence, which the relaxed load in
        // `ready` has seen.
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

    /// Consumes the entry that was copied. Returns true if progress should now be published,
    /// because a quarter of the ring is unpublished or the peer announced that it waits for this:
    /// then [`Self::publish_progress`], a full fence and [`Self::doorbell_due`] must follow.
    #[inline(always)]
    pub(crate) fn advance(&mut self) -> bool {
        self.head += 1;
        self.run += 1;
        let quarter = (self.mask + 1) / 4;
        self.head - self.published >= quarter
            || crossed(self.peer.load(SPACE_WAKE_AT), self.published, self.head)
    }

    /// Returns true if the published progress includes all consumed entries.
    #[inline(always)]
    pub(crate) fn progress_is_published(&self) -> bool {
        self.published == self.head
    }

    /// Publishes the progress, so that the peer can see it.
    #[inline(always)]
    pub(crate) fn publish_progress(&mut self) {
        if self.published != self.head {
            // Release: our reads of the consumed entries come before the peer writes there again.
            self.own.word(CONSUMED_AT).store(self.head, release(FenceSite::ConsumedStore));
            self.published = self.head;
        }
    }

    /// Returns true if the peer announced a sleep that ends with progress published since the last
    /// call. A full fence after the publication must come first.
    #[inline(always)]
    pub(crate) fn doorbell_due(&mut self) -> bool {
        let due = crossed(self.peer.load(SPACE_WAKE_AT), self.announced, self.published);
        self.announced = self.published;
        due
    }

    /// Announces that this side sleeps until the next entry is committed. A full fence must follow,
    /// after which the caller checks once more.
    pub(crate) fn arm(&self) {
        self.own.word(DATA_WAKE_AT).store(self.head, Ordering::Relaxed);
    }
}
