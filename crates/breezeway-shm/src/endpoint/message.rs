//! Received messages that own what they hold: a private copy, or a lease of the peer's memory.

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use super::Endpoint;
use crate::doorbell::Bell;
use crate::foreign::ForeignBytes;
use crate::ring::Releases;
use crate::ring::layout::INLINE_MAX;
use breezeway_os::Origin;
use breezeway_os::segment::Mapping;

/// How leases of one session end, on any thread, during the session and after it.
pub(super) struct Releaser {
    releases: Arc<Releases>,
    bell: Arc<Bell>,
    origin: Origin,
}

impl Releaser {
    pub(super) fn new(releases: &Arc<Releases>, bell: &Arc<Bell>) -> Self {
        Self { releases: Arc::clone(releases), bell: Arc::clone(bell), origin: Origin::here() }
    }
}

/// A part of the peer's memory that it does not write again before this is dropped, if it keeps to
/// the rules.
struct Lease {
    /// Present until dropped.
    segment: Option<Arc<Mapping>>,
    lend: u16,
    releaser: Arc<Releaser>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(segment) = self.segment.take() else { return };
        if !self.releaser.origin.is_here() {
            // The lease is the parent's, and so are the bits, which a child does not have.
            return;
        }
        if self.releaser.releases.end_lease(segment, self.lend)
            && self.releaser.bell.ring().is_err()
        {
            // Left to the next release or wait of this side, which reports what fails.
            self.releaser.releases.not_rung();
        }
    }
}

/// Where a message's bytes are.
enum Held {
    /// The body of an entry. Boxed, as messages are moved from hand to hand: 199 streams under
    /// tokio take 350 ns a round trip, and 376 where each move copies it.
    Inline(Box<[u8; INLINE_MAX]>),
    /// In private memory.
    Private(Vec<u8>),
    /// In the peer's memory, at this address.
    Lent { lease: Lease, address: *const u8, trusted: bool },
}

/// A received message that owns what it holds: a private copy of up to 104 bytes, else a lease of
/// the peer's memory.
///
/// Any number may be kept, by any threads, past the session's end. Dropping one releases what it
/// holds, in whatever order. The peer can send no more than its lend numbers and the session's cap
/// allow as long as they are kept; [`Self::to_vec`] makes a copy to keep instead.
///
/// In a forked child its bytes are those that the parent's message has, as long as the parent keeps
/// that; dropping it there releases nothing.
pub struct Message {
    held: Held,
    start: usize,
    end: usize,
}

// SAFETY: the address points into a mapping that the lease keeps alive, which does not care from
// which thread it is read, and everything else is `Send`.
unsafe impl Send for Message {}
// SAFETY: a shared reference gives no more than `ForeignBytes`, which bear concurrent writes.
unsafe impl Sync for Message {}

impl Message {
    /// How many bytes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Its bytes: those of a lent message the peer may still change, unless it is
    /// [trusted](Endpoint::trust).
    #[inline]
    pub fn bytes(&self) -> ForeignBytes<'_> {
        let all = match &self.held {
            Held::Inline(bytes) => ForeignBytes::stable(&bytes[..]),
            Held::Private(bytes) => ForeignBytes::stable(bytes),
            Held::Lent { lease, address, trusted } => {
                // A parent that is done with its own message lets the peer write here again.
                let trusted = *trusted && lease.releaser.origin.is_here();
                // SAFETY: the range was checked by `Borrower::borrow` to lie in the mapping that
                // the lease keeps alive, and `self`, which the result borrows, keeps the lease.
                // `trusted` stems from a `TrustedPeer`, and what it lends stays as it is until the
                // lease ends.
                return unsafe { ForeignBytes::lent(address.add(self.start), self.len(), trusted) };
            }
        };
        all.slice(self.start..self.end)
    }

    /// Leaves out all bytes but a part of them. The rest stays lent, as memory is released as a
    /// whole. Panics if the range reaches outside, like slicing.
    pub fn narrow(&mut self, range: impl RangeBounds<usize>) {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&start) => start + 1,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&end) => end + 1,
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len(),
        };
        assert!(start <= end && end <= self.len(), "range {start}..{end} of {} bytes", self.len());
        (self.start, self.end) = (self.start + start, self.start + end);
    }

    /// Leaves out the first `count` bytes. Panics if there are not as many.
    pub fn skip(&mut self, count: usize) {
        self.narrow(count..);
    }

    /// Whether it holds memory of the peer, which is lent until it is dropped.
    #[inline]
    pub fn is_lent(&self) -> bool {
        matches!(self.held, Held::Lent { .. })
    }

    /// A private copy of its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }
}

impl Default for Message {
    /// One without bytes.
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

/// A message whose bytes are private: where there is no shared memory, and in tests.
impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Self {
        Self { start: 0, end: bytes.len(), held: Held::Private(bytes) }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Message")
            .field("len", &self.len())
            .field("is_lent", &self.is_lent())
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Ends the current message as [`Self::finish`] does, but for what it holds, which is now the
    /// result's. Empty if it was released before. The head in [`Self::entry`] stays until the next
    /// entry is taken.
    ///
    /// # Panics
    ///
    /// Without a current message.
    #[inline]
    pub fn detach(&mut self) -> Message {
        assert!(self.has_entry, "there is no current message to be detached");
        self.has_entry = false;
        let message = match self.borrowed.take() {
            Some(borrowed) => {
                let segment = self.borrower.segment(&borrowed);
                let held = Held::Lent {
                    address: segment.address().wrapping_add(borrowed.offset),
                    lease: Lease {
                        segment: Some(segment),
                        lend: borrowed.lend,
                        releaser: Arc::clone(&self.releaser),
                    },
                    trusted: self.trusted,
                };
                Message { held, start: 0, end: borrowed.len }
            }
            None => Message {
                held: Held::Inline(Box::new(self.entry.inline_room())),
                start: 0,
                end: self.entry.inline().len(),
            },
        };
        self.entry.clear_body();
        message
    }
}
