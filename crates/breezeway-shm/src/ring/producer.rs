//! The producing end of a ring.

use super::crossed;
use super::entry::Head;
use super::layout::{
    BODY_WORD, ENTRY_SIZE, ENTRY_WORDS, FIRST_LINE_WORDS, INLINE_FIRST_LINE, INLINE_MAX,
};
use super::offsets::{CONSUMED_AT, DATA_WAKE_AT, RING_AT, SPACE_WAKE_AT};
use super::sync::{AtomicU64, FenceSite, Ordering, acquire_fence, release, removed};
use super::words::{ForeignWords, OwnWords};
use crate::violation::Violation;

/// Slots whose lines are claimed together in a batch.
const CLAIMED: u64 = if cfg!(loom) { 1 } else { 8 };

/// Writes an inline body, and zeros behind its end.
#[inline(always)]
fn write_body(body: &[u8], words: &[AtomicU64]) {
    let (whole, rest) = body.as_chunks();
    let (used, behind) = words.split_at(whole.len());
    for (word, bytes) in used.iter().zip(whole) {
        word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
    }
    let mut last = if rest.is_empty() { 0 } else { last_word(rest) };
    for word in behind {
        word.store(std::mem::take(&mut last), Ordering::Relaxed);
    }
}

/// Returns the word of fewer than eight bytes.
#[inline(never)]
fn last_word(rest: &[u8]) -> u64 {
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Reason why an entry could not be published.
#[derive(Debug)]
pub(crate) enum PublishFailure {
    /// The peer has not consumed enough.
    Full,
    /// The peer's progress is impossible.
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
    /// Entries that the peer is known to have consumed.
    consumed: u64,
    /// True if many entries will follow each other: see [`Self::set_batching`].
    batching: bool,
}

impl Producer {
    /// Creates the producer of the ring in `own`, which has `capacity` entries.
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

    /// Returns the number of entries published so far.
    #[inline]
    pub(crate) fn published(&self) -> u64 {
        self.tail
    }

    /// Returns the number of entries that the peer is known to have consumed.
    pub(crate) fn known_consumed(&self) -> u64 {
        self.consumed
    }

    /// Returns the number of free slots that are known without loading the peer's line. The peer
    /// may have consumed more since.
    #[inline]
    pub(crate) fn known_space(&self) -> u64 {
        self.mask + 1 - (self.tail - self.consumed)
    }

    /// Returns the capacity of the ring, in entries.
    pub(crate) fn capacity(&self) -> u64 {
        self.mask + 1
    }

    /// Reads the peer's progress and validates it by its distance.
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

    /// Publishes one entry; a spinning peer sees it at once, a sleeping one after
    /// [`Self::doorbell_due`]. `body` is at most 104 bytes.
    ///
    /// Its words go from the slice to the ring directly: each store waits until this CPU owns its
    /// line, and the fewer stores queue behind it, the more lines can be requested at once.
    #[inline(always)]
    pub(crate) fn publish(
        &mut self,
        head: Head,
        released: u16,
        body: &[u8],
    ) -> Result<(), PublishFailure> {
        if self.batching && self.tail.is_multiple_of(CLAIMED) {
            self.claim_lines(body.len()).map_err(PublishFailure::Violation)?;
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
        let end = if body.len() > INLINE_FIRST_LINE { ENTRY_WORDS } else { FIRST_LINE_WORDS };
        write_body(body, &slot[BODY_WORD..end]);
        // Release: the entry's words before, and the payload bytes that a descriptor names, are
        // visible to every reader that sees the sequence.
        slot[0].store(self.tail + 1, release(FenceSite::SequenceStore));
        self.tail += 1;
        Ok(())
    }

    /// Sets whether many entries will follow each other.
    pub(crate) fn set_batching(&mut self, batching: bool) {
        self.batching = batching;
    }

    /// Takes the lines of some free slots back from the peer's cache together. A store waits until
    /// this CPU owns its line, and stores complete in order, so entries written one by one wait for
    /// one line after the other; these stores stand so close to each other that the processor
    /// requests all the lines at once. The bodies of a batch are usually as long as its first one.
    fn claim_lines(&mut self, len: usize) -> Result<(), Violation> {
        if self.known_space() < CLAIMED {
            self.refresh()?;
        }
        if self.known_space() >= CLAIMED || removed(FenceSite::ClaimOfFreeSlots) {
            for position in self.tail..self.tail + CLAIMED {
                let slot = RING_AT + (position & self.mask) as usize * ENTRY_SIZE;
                let slot = self.own.entry(slot);
                slot[1].store(0, Ordering::Relaxed);
                if len > INLINE_FIRST_LINE {
                    slot[FIRST_LINE_WORDS].store(0, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    /// Returns true if the peer announced a sleep that ends with an entry published since the last
    /// call. A full fence after the publication must come first.
    #[inline(always)]
    pub(crate) fn doorbell_due(&mut self) -> bool {
        let due = crossed(self.peer.load(DATA_WAKE_AT), self.announced, self.tail);
        self.announced = self.tail;
        due
    }

    /// Announces that this side sleeps until the peer has consumed more than `consumed` entries. A
    /// full fence must follow, after which the caller checks once more.
    pub(crate) fn arm(&self, consumed: u64) {
        self.own.word(SPACE_WAKE_AT).store(consumed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_body_are_zero_behind_its_end() {
        let whole: Vec<u8> = (1..=INLINE_MAX as u8).collect();
        for len in 0..=INLINE_MAX {
            let words: [_; ENTRY_WORDS - BODY_WORD] =
                std::array::from_fn(|_| AtomicU64::new(u64::MAX));
            write_body(&whole[..len], &words);
            let written: Vec<u8> =
                words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
            assert_eq!(written[..len], whole[..len]);
            assert!(written[len..].iter().all(|&byte| byte == 0), "{len}");
        }
    }
}
