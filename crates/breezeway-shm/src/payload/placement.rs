//! Placement of payload: the constants, and the policy of rotating and copying messages.
//!
//! Many messages of one size are not placed in the same spot each time: they rotate through more
//! memory than a second-level cache holds. A few messages do not rotate, because they would only
//! keep that memory, and where the cap is small, none do.
//!
//! The bounds of near and distant are in `breezeway_os::Distance`, the limits on huge pages in
//! `breezeway_os::segment`.

use std::time::Duration;

use breezeway_os::copy::{PREFETCHED_UP_TO, STREAM_FROM, claim_and_copy};
use breezeway_os::{Distance, cpu};

use crate::foreign::ForeignBytes;

// ---- sizes of segments ----

/// Unit of segment sizes in bytes: the kernel allocates no less.
pub(crate) const PAGE: usize = 4096;
/// Bytes of the first segment unless a message needs more, by default: a session with little
/// traffic keeps this much.
pub(crate) const FIRST_SEGMENT: u64 = 64 * 1024;

// ---- rotation ----

/// Size of the smallest message that rotates, if at least two fit. A line that both sides have in
/// their second-level caches must be transferred from the other cache for each write and again for
/// each read; a line that only the shared cache holds need not.
/// (Figures: `docs/reports/2026-11-26-design-choices.md`.)
pub(crate) const ROTATED_FROM: usize = 16 * 1024;
/// Bytes that messages rotate through: more than a second-level cache, and one huge page.
pub(crate) const ROTATION: usize = 2 << 20;
/// Divisor of the last-level cache's size that gives the rotation's size for a distant peer: the
/// other half is for all else.
const FAR_SHARE: usize = 2;
/// Divisor of the cap that gives the largest rotation. If that is too small, messages do not
/// rotate: the cap is for messages that are kept.
const LARGEST_SHARE_OF_CAP: usize = 4;
/// Largest ratio of the segment's size to the rotation's. The segment stays as long as messages
/// rotate in it, so that a larger one would keep too much memory.
pub(crate) const MUCH_LARGER: usize = 4;
/// Windows in which messages rotate, counted from one with as many bytes as the rotation's size:
/// one more than that, so that steady traffic rotates without a break.
const BUSY_WINDOWS: u32 = 2;
/// Number of full rotations within one window after which a segment is added for them: as many pay
/// for its pages.
pub(crate) const OFTEN: usize = 16;

// ---- age of segments ----

/// Length of a window by default: the time after which a segment that traffic has not needed is
/// given back.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);
/// Consecutive windows without use after which a segment is retired.
pub(crate) const QUIET: u32 = 1;
/// Consecutive windows without use after which the spare, the largest wholly free segment, is
/// retired: the next large message needs it.
pub(crate) const QUIET_SPARE: u32 = 10;
/// Flushes between two readings of the clock, while there are more segments than an idle session
/// keeps: a reading takes a part of the time of a small message.
pub(crate) const FLUSHES_PER_CHECK: u32 = 64;

// ---- search for released space ----

/// Divisor of the first segment's size that gives the bytes of small messages that may be taken
/// before releases are collected again: so that they stay in that segment.
pub(crate) const LOOKS_PER_FIRST: usize = 4;
/// Number of larger messages that may be taken before releases are collected again.
pub(crate) const MESSAGES_PER_LOOK: usize = 4;

/// Method of copying bytes into reserved space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copying {
    /// Into private memory.
    Private,
    /// Into shared memory of a peer on a near core.
    Near,
    /// Into shared memory of a peer on a distant core.
    Far,
}

impl Copying {
    /// Copies `bytes` into `space`. Large payloads for a distant peer are written past the caches,
    /// however small the pieces they are written in. Panics if they reach outside.
    #[inline]
    pub(crate) fn fill(self, space: &mut [u8], offset: usize, bytes: ForeignBytes<'_>) {
        let size = space.len();
        let to = &mut space[offset..][..bytes.len()];
        if self == Self::Far && size >= STREAM_FROM {
            bytes.stream_to(to);
        } else if self != Self::Private && size > PREFETCHED_UP_TO {
            claim_and_copy(to, |at, piece| bytes.slice(at..at + piece.len()).copy_to(piece));
        } else {
            bytes.copy_to(to);
        }
    }
}

/// Decisions on the place of one side's messages, by their traffic and the peer's distance.
pub(crate) struct Placement {
    distance: Distance,
    is_far: bool,
    /// Offset of the next rotating message.
    pub(super) next: usize,
    /// Bytes of messages that can rotate, since the last window began.
    pub(super) bytes: usize,
    /// Number of windows left with rotation, this one included.
    busy: u32,
    /// Size of the rotation for a near and a distant peer; 0 without rotation.
    pub(super) near_size: usize,
    pub(super) far_size: usize,
}

impl Placement {
    pub(super) fn new(cap: usize) -> Self {
        let most = cap / LARGEST_SHARE_OF_CAP / ROTATION * ROTATION;
        let far_size = cpu::last_cache().unwrap_or(0) / FAR_SHARE;
        Self {
            distance: Distance::default(),
            is_far: false,
            next: 0,
            bytes: 0,
            busy: 0,
            near_size: ROTATION.min(most),
            far_size: far_size.next_multiple_of(ROTATION).max(ROTATION).min(most),
        }
    }

    /// Returns the method of copying the next payload.
    #[inline]
    pub(crate) fn copying(&self) -> Copying {
        if self.distance.streams() { Copying::Far } else { Copying::Near }
    }

    /// Notes that a payload of `len` bytes is about to be filled. At intervals this times `load`,
    /// the load of a word that the peer writes with each message.
    #[inline]
    pub(crate) fn sample<T>(&mut self, len: usize, load: impl FnOnce() -> T) {
        if len >= STREAM_FROM {
            self.distance.sample(len, load);
            self.set_far(self.distance.is_far());
        }
    }

    #[inline]
    pub(super) fn set_far(&mut self, is_far: bool) {
        if self.is_far != is_far {
            (self.is_far, self.bytes) = (is_far, 0);
        }
    }

    /// Returns the size of the rotation.
    pub(super) fn size(&self) -> usize {
        if self.is_far { self.far_size } else { self.near_size }
    }

    /// Returns true if a message of `len` bytes rotates now.
    pub(super) fn rotates(&self, len: usize) -> bool {
        self.busy > 0 && len <= self.size() / 2
    }

    /// Returns the part of a segment of `size` bytes that messages of `len` bytes rotate in, if the
    /// segment is large enough.
    pub(super) fn end(&self, size: usize, len: usize) -> Option<usize> {
        let end = size.min(self.size());
        (end >= (2 * len).max(self.near_size / 2)).then_some(end)
    }

    /// Counts a message that was placed, and returns true if messages have rotated often within
    /// this window, or would have.
    pub(super) fn count(&mut self, len: usize) -> bool {
        let size = self.size();
        if len > size / 2 {
            return false;
        }
        self.bytes = self.bytes.saturating_add(len);
        if self.bytes >= size {
            self.busy = BUSY_WINDOWS;
        }
        self.is_often()
    }

    /// Returns true if messages have rotated often within this window, or would have, and begins
    /// to count anew.
    pub(super) fn take_often(&mut self) -> bool {
        let is_often = self.is_often();
        if is_often {
            self.bytes = 0;
        }
        is_often
    }

    fn is_often(&self) -> bool {
        self.bytes > 0 && self.bytes / OFTEN >= self.size()
    }

    /// Ends a window.
    pub(super) fn age(&mut self) {
        self.bytes = 0;
        self.busy = self.busy.saturating_sub(1);
    }
}
