//! The receiving side of payload: the peer's payload segments, mapped read-only.

use crate::foreign::ForeignBytes;
use crate::ring::Entry;
use crate::ring::layout::MAX_SEGMENTS;
use crate::ring::release::is_unleased;
use crate::violation::Violation;
use breezeway_os::copy::prepare_to_read;
use breezeway_os::segment::{Mapping, PIECE, SegmentError};
use std::sync::Arc;

/// Length of a descriptor in an entry's body.
const DESCRIPTOR_LEN: usize = 24;

/// A payload that the peer has lent: a validated descriptor. It must be released once and is never
/// copied.
#[derive(Debug)]
pub(crate) struct Borrowed {
    /// Index in the list of segments, valid until the next entry is taken.
    segment: usize,
    pub(crate) lend: u16,
    pub(crate) offset: usize,
    pub(crate) len: usize,
}

struct ForeignSegment {
    number: u32,
    /// Leases hold a reference as well.
    mapping: Arc<Mapping>,
}

/// A segment that is mapped and not added yet.
struct Arriving {
    mapping: Mapping,
    /// Bytes whose pages are populated.
    done: usize,
}

/// The peer's payload segments.
pub(crate) struct Borrower {
    segments: Vec<ForeignSegment>,
    arriving: Option<Arriving>,
    next_number: u32,
    total: u64,
    /// Maximum bytes of segments at any time.
    segment_cap: u64,
    cap: u64,
    lend_count: u32,
}

impl Borrower {
    pub(crate) fn new(lend_count: u32, segment_cap: u64, cap: u64) -> Self {
        let (segments, arriving) = (Vec::new(), None);
        Self { segments, arriving, next_number: 0, total: 0, segment_cap, cap, lend_count }
    }

    /// Returns the bytes of the segments mapped now.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of pieces in which segments up to their cap are mapped.
    pub(crate) fn most_pieces(&self) -> usize {
        usize::try_from(self.segment_cap / PIECE as u64).unwrap_or(usize::MAX / 8) + MAX_SEGMENTS
    }

    /// Returns the number of segments that the peer has added so far.
    pub(crate) fn added(&self) -> u32 {
        self.next_number
    }

    /// Validates the descriptor in an entry.
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
        if len > self.cap {
            return Err(Violation::TooLong { len, cap: self.cap });
        }
        prepare_to_read(mapping.address().wrapping_add(offset as usize), len as usize);
        Ok(Borrowed { segment, lend: lend as u16, offset: offset as usize, len: len as usize })
    }

    /// Validates the body length of an entry of fixed body length.
    #[inline]
    pub(crate) fn check_len(&self, entry: &Entry, expected: usize) -> Result<(), Violation> {
        let found = entry.inline_len();
        if found == expected { Ok(()) } else { Err(Violation::BodyLength { found, expected }) }
    }

    /// Returns the bytes of a validated descriptor. `trusted` requires a proof that the peer does
    /// not change them.
    #[inline]
    pub(crate) fn bytes(&self, borrowed: &Borrowed, trusted: bool) -> ForeignBytes<'_> {
        let mapping = &self.segments[borrowed.segment].mapping;
        assert!(borrowed.offset + borrowed.len <= mapping.size(), "payload outside its segment");
        // SAFETY: the assertion above keeps the range inside `mapping`, a readable mapping in
        // `self.segments`, which the result borrows. `Endpoint::trusted` is set only from a
        // `TrustedPeer`, whose constructor requires a peer that does not write what it has lent.
        unsafe { ForeignBytes::lent(mapping.address().add(borrowed.offset), borrowed.len, trusted) }
    }

    /// Validates the number and size in a `segment add` entry.
    pub(crate) fn check_segment(&self, number: u32, size: u64) -> Result<(), Violation> {
        if number != self.next_number {
            return Err(Violation::SegmentNumber { found: number, expected: self.next_number });
        }
        if self.segments.len() == MAX_SEGMENTS {
            return Err(Violation::SegmentCount(MAX_SEGMENTS));
        }
        if size > self.segment_cap - self.total {
            return Err(Violation::SegmentSum { size, cap: self.segment_cap });
        }
        Ok(())
    }

    /// Returns true if the segment that a validated `segment add` entry announces is already
    /// mapped. The peer may have changed the entry since: the mapped segment has the size that was
    /// validated first.
    pub(crate) fn has_arriving(&self, size: u64) -> Result<bool, Violation> {
        match &self.arriving {
            None => Ok(false),
            Some(arriving) if arriving.mapping.size() as u64 == size => Ok(true),
            Some(arriving) => {
                let found = arriving.mapping.size() as u64;
                Err(SegmentError::Size { found, expected: size }.into())
            }
        }
    }

    /// Starts adding the next segment, of which no page is populated yet.
    pub(crate) fn begin(&mut self, mapping: Mapping) {
        self.arriving = Some(Arriving { mapping, done: 0 });
    }

    /// Populates more of its pages, for about half a slice, and adds it after the last page.
    /// Returns true once it is added.
    pub(crate) fn goes_on(&mut self) -> bool {
        let Some(mut arriving) = self.arriving.take() else { return true };
        arriving.done = arriving.mapping.populate(arriving.done);
        let is_complete = arriving.done == arriving.mapping.size();
        if is_complete {
            self.add(arriving.mapping);
        } else {
            self.arriving = Some(arriving);
        }
        is_complete
    }

    fn add(&mut self, mapping: Mapping) {
        self.total += mapping.size() as u64;
        self.segments.push(ForeignSegment { number: self.next_number, mapping: Arc::new(mapping) });
        self.next_number += 1;
    }

    /// Returns the segment of a validated descriptor, for a lease.
    pub(crate) fn segment(&self, borrowed: &Borrowed) -> Arc<Mapping> {
        Arc::clone(&self.segments[borrowed.segment].mapping)
    }

    /// Drops the segment that a `segment retire` entry names. All leases in it ended before the
    /// peer could see their release, so this drops the last reference to the mapping.
    pub(crate) fn retire(&mut self, number: u32) -> Result<(), Violation> {
        let index = self
            .segments
            .iter()
            .position(|segment| segment.number == number)
            .ok_or(Violation::UnknownSegment(number))?;
        if !is_unleased(&self.segments[index].mapping) {
            return Err(Violation::RetiredWhileLent(number));
        }
        self.total -= self.segments.remove(index).mapping.size() as u64;
        Ok(())
    }
}
