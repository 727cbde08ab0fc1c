//! Received messages that own their content: a private copy, or a lease of the peer's memory.

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

/// Ends the leases of one session, on any thread, during the session and after it.
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

/// A lease of a part of the peer's memory, which a conforming peer does not write before the lease
/// is dropped.
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
            // The lease belongs to the parent, and the release bits are not mapped in a child.
            return;
        }
        if self.releaser.releases.end_lease(segment, self.lend)
            && self.releaser.bell.ring().is_err()
        {
            // Leaves the doorbell to the next release or wait of this side, which reports errors.
            self.releaser.releases.not_rung();
        }
    }
}

/// Location of a message's bytes.
enum Held {
    /// The body of an entry. Boxed, so that moving a message does not copy it.
    Inline(Box<[u8; INLINE_MAX]>),
    /// Private memory.
    Private(Vec<u8>),
    /// The peer's memory, at this address.
    Lent { lease: Lease, address: *const u8, trusted: bool },
}

/// A received message that owns its content: a private copy of up to 104 bytes, else a lease of the
/// peer's memory.
///
/// Any number may be kept, by any threads, past the session's end, and dropped in any order.
/// Dropping a message releases its memory. As long as messages are kept, the peer's lend numbers
/// and the session's cap limit what it can send; [`Self::to_vec`] makes a copy to keep instead.
///
/// In a forked child a message has the bytes of the parent's message for as long as the parent
/// keeps that one. Dropping it in the child releases nothing.
pub struct Message {
    held: Held,
    start: usize,
    end: usize,
}

// SAFETY: the address points into a mapping that the lease keeps alive and that may be read from
// any thread; every other field is `Send`.
unsafe impl Send for Message {}
// SAFETY: a shared reference gives only `ForeignBytes`, which tolerate concurrent writes.
unsafe impl Sync for Message {}

impl Message {
    /// Returns the length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Returns true if the message has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns the message's bytes. The peer may still change those of a lent message, unless the
    /// peer is [trusted](Endpoint::trust).
    #[inline]
    pub fn bytes(&self) -> ForeignBytes<'_> {
        let all = match &self.held {
            Held::Inline(bytes) => ForeignBytes::stable(&bytes[..]),
            Held::Private(bytes) => ForeignBytes::stable(bytes),
            Held::Lent { lease, address, trusted } => {
                // The parent may drop its own message, and the peer may then write here again.
                let trusted = *trusted && lease.releaser.origin.is_here();
                // SAFETY: the range was checked by `Borrower::borrow` to lie in the mapping that
                // the lease keeps alive, and `self`, which the result borrows, keeps the lease.
                // `trusted` stems from a `TrustedPeer`, which does not change lent bytes before the
                // lease ends.
                return unsafe { ForeignBytes::lent(address.add(self.start), self.len(), trusted) };
            }
        };
        all.slice(self.start..self.end)
    }

    /// Narrows the message to a range of its bytes. The rest stays lent, because memory is released
    /// as a whole. Panics if the range reaches outside, like slicing.
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

    /// Removes the first `count` bytes. Panics if the message is shorter.
    pub fn skip(&mut self, count: usize) {
        self.narrow(count..);
    }

    /// Returns true if the message holds memory of the peer, which is lent until the message is
    /// dropped.
    #[inline]
    pub fn is_lent(&self) -> bool {
        matches!(self.held, Held::Lent { .. })
    }

    /// Returns a private copy of the bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }
}

impl Default for Message {
    /// Returns an empty message.
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

/// Message with private bytes: for carriers without shared memory, and for tests.
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
    /// Ends the current message like [`finish`](Self::finish), but moves its content into the
    /// result instead of releasing it. The result is empty if the content was released before. The
    /// head in [`Self::entry`] stays until the next entry is taken.
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
