//! The receiving side of payload: the peer's payload segments, mapped read-only, and the release of
//! what it lent.

use crate::foreign::ForeignBytes;
use crate::payload::segments::MOST_SEGMENTS;
use crate::ring::Entry;
use crate::ring::layout::RELEASED_AT;
use crate::ring::words::OwnWords;
use crate::violation::Violation;
use breezeway_os::copy::prepare_to_read;
use breezeway_os::segment::Mapping;
use std::sync::atomic::Ordering;

/// Length of a descriptor in an entry's body.
const DESCRIPTOR_LEN: usize = 24;

/// A payload that the peer has lent: a descriptor that was checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Borrowed {
    /// Index in the list of segments, valid until the next entry is taken.
    segment: usize,
    pub(crate) lend: u16,
    offset: usize,
    len: usize,
}

struct ForeignSegment {
    number: u32,
    mapping: Mapping,
}

/// The peer's payload segments.
pub(crate) struct Borrower {
    segments: Vec<ForeignSegment>,
    next_number: u32,
    total: u64,
    cap: u64,
    lend_count: u32,
    /// Our control segment: the release bits.
    own: OwnWords,
    /// 1 + the released lend number that the next entry will carry; 0 if none.
    unpublished_release: u16,
}

impl Borrower {
    pub(crate) fn new(own: OwnWords, lend_count: u32, cap: u64) -> Self {
        Self {
            segments: Vec::new(),
            next_number: 0,
            total: 0,
            cap,
            lend_count,
            own,
            unpublished_release: 0,
        }
    }

    /// Bytes of segments now.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Segments that the peer has added so far.
    pub(crate) fn added(&self) -> u32 {
        self.next_number
    }

    /// Judges the descriptor in an entry.
    #[inline]
    pub(crate) fn borrow(&self, entry: &Entry) -> Result<Borrowed, Violation> {
        let (first, offset, len) = (entry.body_word(0), entry.body_word(1), entry.body_word(2));
        let (number, lend) = (first as u32, (first >> 32) as u32);
        self.check_len(entry, DESCRIPTOR_LEN)?;
        if lend >= self.lend_count {
            return Err(Violation::LendNumber { lend, count: self.lend_count });
        }
        let segment = self
            .segments
            .iter()
            .position(|segment| segment.number == number)
            .ok_or(Violation::UnknownSegment(number))?;
        let mapping = &self.segments[segment].mapping;
        let size = mapping.size();
        let inside = offset.checked_add(len).is_some_and(|end| end <= size as u64);
        if !inside || len == 0 {
            return Err(Violation::Descriptor { offset, len, size });
        }
        prepare_to_read(mapping.address().wrapping_add(offset as usize), len as usize);
        Ok(Borrowed { segment, lend: lend as u16, offset: offset as usize, len: len as usize })
    }

    /// Judges the length of an entry's body that has a fixed form.
    #[inline]
    pub(crate) fn check_len(&self, entry: &Entry, expected: usize) -> Result<(), Violation> {
        let found = entry.inline_len();
        if found == expected { Ok(()) } else { Err(Violation::BodyLength { found, expected }) }
    }

    /// The bytes of a checked descriptor. `trusted` if a proof says that the peer does not change
    /// them.
    #[inline]
    pub(crate) fn bytes(&self, borrowed: &Borrowed, trusted: bool) -> ForeignBytes<'_> {
        let mapping = &self.segments[borrowed.segment].mapping;
        assert!(borrowed.offset + borrowed.len <= mapping.size(), "payload outside its segment");
        // SAFETY: the range lies inside a readable mapping that lives in `self`, which the result
        // borrows; the caller's `trusted` stems from a `TrustedPeer`.
        unsafe { ForeignBytes::lent(mapping.address().add(borrowed.offset), borrowed.len, trusted) }
    }

    /// Says that a payload is no longer read: with the next entry we publish, or by its bit if
    /// another one waits for that already.
    #[inline]
    pub(crate) fn release(&mut self, lend: u16) {
        if self.unpublished_release == 0 {
            self.unpublished_release = lend + 1;
        } else {
            self.flip(lend);
        }
    }

    /// What the next entry must carry: 1 + a lend number, or 0.
    #[inline]
    pub(crate) fn unpublished_release(&self) -> u16 {
        self.unpublished_release
    }

    /// The entry that carries it was published.
    #[inline]
    pub(crate) fn release_published(&mut self) {
        if self.unpublished_release != 0 {
            self.unpublished_release = 0;
        }
    }

    /// Releases by its bit what no entry may carry for long.
    #[inline]
    pub(crate) fn settle(&mut self) {
        if let Some(lend) = self.unpublished_release.checked_sub(1) {
            self.unpublished_release = 0;
            self.flip(lend);
        }
    }

    fn flip(&self, lend: u16) {
        let word = self.own.word(RELEASED_AT + 8 * usize::from(lend / 64));
        // One thread at a time receives on a session, so this is no read-modify-write. Release: our
        // reads of the payload come before.
        word.store(word.load(Ordering::Relaxed) ^ 1 << (lend % 64), Ordering::Release);
    }

    /// Judges what a `segment add` entry says.
    pub(crate) fn check_segment(&self, number: u32, size: u64) -> Result<(), Violation> {
        if number != self.next_number {
            return Err(Violation::SegmentNumber { found: number, expected: self.next_number });
        }
        if self.segments.len() == MOST_SEGMENTS {
            return Err(Violation::SegmentCount(MOST_SEGMENTS));
        }
        if size > self.cap - self.total {
            return Err(Violation::SegmentSum { size, cap: self.cap });
        }
        Ok(())
    }

    /// Adds the segment that a checked `segment add` entry announces.
    pub(crate) fn add(&mut self, mapping: Mapping) {
        self.total += mapping.size() as u64;
        self.segments.push(ForeignSegment { number: self.next_number, mapping });
        self.next_number += 1;
    }

    /// Drops the segment that a `segment retire` entry names.
    pub(crate) fn retire(&mut self, number: u32) -> Result<(), Violation> {
        let index = self
            .segments
            .iter()
            .position(|segment| segment.number == number)
            .ok_or(Violation::UnknownSegment(number))?;
        self.total -= self.segments.remove(index).mapping.size() as u64;
        Ok(())
    }
}
