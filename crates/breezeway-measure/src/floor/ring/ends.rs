//! The two ends that a side has: it produces into its own ring and consumes the peer's.

use super::super::spin::{Spin, spin_until};
use super::super::{FloorError, MEASURER_PATIENCE, PARTNER_PATIENCE};
use super::WORDS;
use super::memory::{CAPACITY, SharedRings};
use breezeway_shm::layout::{
    BODY_WORD, CONSUMED_AT, DATA_WAKE_AT, FIRST_LINE_WORDS, RELEASE_WAKE_AT, RELEASED_AT,
    SPACE_WAKE_AT,
};
use std::hint::black_box;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

/// Content of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) body: [u64; WORDS],
}

/// Kind of an entry: the action that it requests from the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Work, whatever the measurement is about.
    Message,
    /// Report the messages received so far.
    Tally,
    /// End.
    Shutdown,
}

impl Kind {
    /// The entry's second word, laid out like that of a session: kind, length and stream.
    fn to_word(self) -> u64 {
        let kind = match self {
            Self::Message => 1,
            Self::Tally => 2,
            Self::Shutdown => 9,
        };
        kind | (8 * WORDS as u64) << 16 | 1 << 32
    }

    fn of_word(word: u64) -> Self {
        match word as u8 {
            1 => Self::Message,
            2 => Self::Tally,
            _ => Self::Shutdown,
        }
    }
}

/// One side of the exchange.
pub(super) struct Side<'a> {
    rings: &'a SharedRings,
    spin: Spin,
    patience: Duration,
    /// Position of the next entry to publish.
    tail: u64,
    /// The peer's last known progress.
    consumed: u64,
    /// Positions below were compared with the peer's intent.
    announced: u64,
    /// Position of the next entry to take.
    head: u64,
    /// Progress that the peer can see.
    published: u64,
}

impl<'a> Side<'a> {
    /// The side that takes the time.
    pub(super) fn measurer(rings: &'a SharedRings, spin: Spin) -> Self {
        Self::new(rings, spin, MEASURER_PATIENCE)
    }

    pub(super) fn partner(rings: &'a SharedRings, spin: Spin) -> Self {
        Self::new(rings, spin, PARTNER_PATIENCE)
    }

    fn new(rings: &'a SharedRings, spin: Spin, patience: Duration) -> Self {
        Self { rings, spin, patience, tail: 0, consumed: 0, announced: 0, head: 0, published: 0 }
    }

    /// Publishes one entry, once there is a slot; a spinning peer sees it at once.
    #[inline(always)]
    pub(super) fn publish(&mut self, kind: Kind, body: &[u64; WORDS]) -> Result<(), FloorError> {
        if self.tail - self.consumed == CAPACITY {
            self.wait_for_space()?;
        }
        let entry = self.rings.own.entry(self.tail);
        entry[1].store(kind.to_word(), Ordering::Relaxed);
        entry[2].store(0, Ordering::Relaxed);
        for (word, value) in entry[BODY_WORD..].iter().zip(body) {
            word.store(*value, Ordering::Relaxed);
        }
        entry[0].store(self.tail + 1, Ordering::Release);
        self.tail += 1;
        Ok(())
    }

    fn wait_for_space(&mut self) -> Result<(), FloorError> {
        let (word, before) = (self.rings.peer.word(CONSUMED_AT), self.consumed);
        self.consumed = spin_until(self.spin, self.patience, || {
            Some(word.load(Ordering::Relaxed)).filter(|&consumed| consumed != before)
        })?;
        fence(Ordering::Acquire);
        Ok(())
    }

    /// Follows one or more publications: a fence, and a check whether the peer sleeps.
    #[inline(always)]
    pub(super) fn announce(&mut self) {
        fence(Ordering::SeqCst);
        let intent = self.rings.peer.word(DATA_WAKE_AT).load(Ordering::Relaxed);
        // It never does, but the optimiser must not assume that.
        black_box(is_crossed(intent, self.announced, self.tail));
        self.announced = self.tail;
    }

    /// Publishes one entry and announces it.
    #[inline(always)]
    pub(super) fn send(&mut self, kind: Kind, body: &[u64; WORDS]) -> Result<(), FloorError> {
        self.publish(kind, body)?;
        self.announce();
        Ok(())
    }

    /// Asks the partner to end, also after a failure.
    pub(super) fn shut_down(&mut self) {
        if self.tail - self.consumed < CAPACITY {
            // There is a slot, so it does not wait.
            let _ = self.send(Kind::Shutdown, &[0; WORDS]);
        }
    }

    /// The next entry, once it is there.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Result<Entry, FloorError> {
        let (entry, next) = (self.rings.peer.entry(self.head), self.head + 1);
        spin_until(self.spin, self.patience, || {
            (entry[0].load(Ordering::Relaxed) == next).then_some(())
        })?;
        fence(Ordering::Acquire);
        let line: [u64; FIRST_LINE_WORDS] =
            std::array::from_fn(|index| entry[index].load(Ordering::Relaxed));
        self.head = next;
        let waited_for = self.rings.peer.word(SPACE_WAKE_AT).load(Ordering::Relaxed);
        let is_due = is_crossed(waited_for, self.published, self.head);
        if is_due || self.head - self.published == CAPACITY / 4 {
            self.rings.own.word(CONSUMED_AT).store(self.head, Ordering::Release);
            self.published = self.head;
        }
        let body = std::array::from_fn(|index| line[BODY_WORD + index]);
        Ok(Entry { kind: Kind::of_word(line[1]), body })
    }

    /// Flips the release bit of `number`, below 64, and checks whether the peer sleeps.
    pub(super) fn release(&self, number: u64) {
        self.rings.own.word(RELEASED_AT).fetch_xor(1 << number, Ordering::Release);
        fence(Ordering::SeqCst);
        black_box(self.rings.peer.word(RELEASE_WAKE_AT).load(Ordering::Relaxed));
    }

    /// Waits until the release bits under `mask` are `bits`.
    pub(super) fn wait_for_release(&self, mask: u64, bits: u64) -> Result<(), FloorError> {
        let word = self.rings.peer.word(RELEASED_AT);
        spin_until(self.spin, self.patience, || {
            (word.load(Ordering::Relaxed) & mask == bits).then_some(())
        })?;
        fence(Ordering::Acquire);
        Ok(())
    }
}

/// Returns true if an advance from `old` to `new` passes `intent` (docs/abi.md, section 5).
#[inline(always)]
fn is_crossed(intent: u64, old: u64, new: u64) -> bool {
    new.wrapping_sub(intent).wrapping_sub(1) < new.wrapping_sub(old)
}
