//! Both rings of a session as one end sees them, the releases of payload, and the decision to wake
//! the peer. This module makes no system calls, so the model checker runs this very code
//! (`model.rs`).

use std::sync::Arc;

use super::sync::{FenceSite, full_fence, removed};
use super::words::{ForeignWords, OwnWords};
use super::{Consumer, Lent, Producer, Releases};
use crate::violation::Violation;

/// Condition that an end waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The next entry is committed.
    Data,
    /// The peer has consumed more than this many entries.
    Consumed(u64),
    /// Payload memory may be available: the peer has released some, an entry is committed, or the
    /// peer has consumed more than `consumed` entries.
    Memory {
        /// Number of entries that the peer is known to have consumed.
        consumed: u64,
        /// Number of payloads that have come back so far. A payload that comes back by other means,
        /// such as a check for unneeded segments, ends the wait as well.
        back: u64,
    },
}

/// The producing end of our ring and the consuming end of the peer's, with the state of both ends'
/// lent payload.
pub(crate) struct Duplex {
    pub(crate) producer: Producer,
    pub(crate) consumer: Consumer,
    /// Payload lent to the peer.
    pub(crate) lent: Lent,
    /// Releases of payload that the peer has lent; leases hold a reference as well.
    pub(crate) releases: Arc<Releases>,
    /// 1 + the released lend number that the next entry will carry; 0 if none.
    hidden_release: u16,
    /// True if this end has flipped a bit and not compared the peer's intent since.
    flipped: bool,
}

impl Duplex {
    /// Creates both ends in the control segments `own` and `peer`, with rings of these capacities,
    /// in this order; the peer keeps a bit for each of our `lend_count` lend numbers.
    pub(crate) fn new(
        own: &OwnWords,
        peer: &ForeignWords,
        capacities: [u32; 2],
        lend_count: u32,
    ) -> Self {
        Self {
            producer: Producer::new(own.clone(), peer.clone(), capacities[0]),
            consumer: Consumer::new(peer.clone(), own.clone(), capacities[1]),
            lent: Lent::new(own.clone(), peer.clone(), lend_count),
            releases: Arc::new(Releases::new(own.clone(), peer.clone())),
            hidden_release: 0,
            flipped: false,
        }
    }

    // ---- releasing ----

    /// Releases a payload: by the next entry that is published, or by its bit if another release
    /// already waits for that entry.
    #[inline]
    pub(crate) fn release(&mut self, lend: u16) {
        if self.hidden_release == 0 {
            self.hidden_release = lend + 1;
        } else {
            self.flip(lend);
        }
    }

    /// Returns the release for the next entry: 1 + a lend number, or 0.
    #[inline(always)]
    pub(crate) fn hidden_release(&self) -> u16 {
        self.hidden_release
    }

    /// Notes that the entry with the release was published.
    #[inline(always)]
    pub(crate) fn release_published(&mut self) {
        if self.hidden_release != 0 {
            self.hidden_release = 0;
        }
    }

    /// Publishes the hidden release, if any, by its bit instead of the next entry.
    #[inline(always)]
    fn settle(&mut self) {
        if let Some(lend) = self.hidden_release.checked_sub(1) {
            self.hidden_release = 0;
            self.flip(lend);
        }
    }

    fn flip(&mut self, lend: u16) {
        self.releases.flip(lend);
        self.flipped = true;
    }

    // ---- waking the peer ----

    /// Returns true if all consumed entries and releases are published, and the peer was woken for
    /// them if it waited.
    #[inline(always)]
    pub(crate) fn is_settled(&self) -> bool {
        self.consumer.progress_is_published() && self.hidden_release == 0 && !self.flipped
    }

    /// Publishes consumed entries and releases. Returns true if the doorbell is due: the peer
    /// sleeps for them, or for an entry published since the last call.
    ///
    /// One fence stands between all publications and the loads of all intents.
    #[inline(always)]
    pub(crate) fn flush(&mut self) -> bool {
        self.settle();
        self.consumer.publish_progress();
        full_fence(FenceSite::AfterPublish);
        self.doorbell_due()
    }

    /// Returns true if the peer announced a sleep that ends with a publication since the last call.
    #[inline(always)]
    fn doorbell_due(&mut self) -> bool {
        // All are evaluated, regardless of the first result: each notes how far it has compared.
        let due = self.producer.doorbell_due() | self.consumer.doorbell_due();
        let flipped = std::mem::take(&mut self.flipped);
        due | (flipped && self.releases.doorbell_due())
    }

    // ---- waiting ----

    /// Returns true if the condition `want` holds.
    #[inline(always)]
    pub(crate) fn has(&mut self, want: Want) -> Result<bool, Violation> {
        match want {
            Want::Data => self.consumer.ready(),
            Want::Consumed(count) => self.has_consumed(count),
            Want::Memory { consumed, back } => Ok(self.lent.back() != back
                || self.lent.has_release()
                || self.consumer.ready()?
                || self.has_consumed(consumed)?),
        }
    }

    /// Returns true if the peer has consumed more than `count` entries.
    fn has_consumed(&mut self, count: u64) -> Result<bool, Violation> {
        self.producer.refresh()?;
        Ok(self.producer.known_consumed() > count)
    }

    /// Announces that this end is about to sleep for `want`; the caller must check once more before
    /// it does. Returns true if the peer's doorbell is due.
    ///
    /// The fence after the intent is also the one that the load of the peer's intents needs.
    pub(crate) fn announce(&mut self, want: Want) -> bool {
        if !removed(FenceSite::HiddenRelease) {
            self.settle();
        }
        if !removed(FenceSite::ProgressBeforeWaiting) {
            self.consumer.publish_progress();
        }
        match want {
            Want::Data => self.consumer.arm(),
            Want::Consumed(count) => self.producer.arm(count),
            Want::Memory { consumed, .. } => {
                self.lent.arm();
                self.consumer.arm();
                self.producer.arm(consumed);
            }
        }
        full_fence(FenceSite::AfterIntent);
        // Includes a release by a lease's thread that could not ring.
        self.doorbell_due() | self.releases.doorbell_due()
    }
}
