//! The sending side of payload: our payload segments, the space in them, and which of it is lent.
//!
//! Everything but the payload bytes is private memory. The peer's release bits only tell which parts of our own memory we may write again, so garbage
//! there harms the liar alone.

use std::sync::atomic::{Ordering, fence};

use crate::allocator::{FreeSpace, rounded};
use crate::layout::RELEASED_AT;
use crate::segment::Mapping;
use crate::violation::Violation;
use crate::words::ForeignWords;

/// Size of the first payload segment of a session whose messages do not ask for more.
const FIRST_SEGMENT: usize = 256 * 1024;
/// The most payload segments a direction has at one time.
pub(crate) const MOST_SEGMENTS: usize = 64;
/// Segment sizes are multiples of this.
const PAGE: usize = 4096;

/// Space taken for one payload, with the lend number it will have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loan {
    pub(crate) segment: u32,
    pub(crate) lend: u16,
    pub(crate) offset: usize,
    pub(crate) len: usize,
}

impl Loan {
    /// The descriptor that tells the peer where the payload lies (`docs/abi.md`, section 4.2).
    #[inline]
    pub(crate) fn descriptor(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[0..4].copy_from_slice(&self.segment.to_le_bytes());
        bytes[4..8].copy_from_slice(&u32::from(self.lend).to_le_bytes());
        bytes[8..16].copy_from_slice(&(self.offset as u64).to_le_bytes());
        bytes[16..24].copy_from_slice(&(self.len as u64).to_le_bytes());
        bytes
    }
}

struct PayloadSegment {
    number: u32,
    mapping: Mapping,
    free: FreeSpace,
}

/// Our payload segments.
pub(crate) struct Lender {
    segments: Vec<PayloadSegment>,
    next_number: u32,
    /// The most bytes of segments at one time.
    cap: usize,
    total: usize,
    /// The peer's control segment: its release bits.
    peer: ForeignWords,
    /// Free lend numbers; the one used last comes first.
    free_numbers: Vec<u16>,
    /// What is lent, by lend number.
    loans: Vec<Option<Loan>>,
    /// Lent numbers as bits.
    lent: Vec<u64>,
    /// The peer's release bits as last seen.
    seen: Vec<u64>,
}

impl Lender {
    pub(crate) fn new(peer: ForeignWords, lend_count: u32, cap: usize) -> Self {
        let words = lend_count as usize / 64;
        Self {
            segments: Vec::new(),
            next_number: 0,
            cap,
            total: 0,
            peer,
            free_numbers: (0..lend_count as u16).rev().collect(),
            loans: vec![None; lend_count as usize],
            lent: vec![0; words],
            seen: vec![0; words],
        }
    }

    /// The most bytes of segments at one time, and so the largest message.
    pub(crate) fn cap(&self) -> usize {
        self.cap
    }

    /// Bytes of segments now.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Takes space for `len` bytes and a lend number, if there is both.
    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Option<Loan> {
        let lend = *self.free_numbers.last()?;
        let (segment, offset) = self
            .segments
            .iter_mut()
            .find_map(|segment| Some((segment.number, segment.free.take(len)?)))?;
        self.free_numbers.pop();
        Some(Loan { segment, lend, offset, len })
    }

    /// Gives back space that was taken and not lent.
    pub(crate) fn give_back(&mut self, loan: Loan) {
        self.free_numbers.push(loan.lend);
        if let Some(segment) = self.segment_mut(loan.segment) {
            segment.free.give_back(loan.offset, loan.len);
        }
    }

    fn segment_mut(&mut self, number: u32) -> Option<&mut PayloadSegment> {
        self.segments.iter_mut().find(|segment| segment.number == number)
    }

    /// The bytes of a loan, to be filled. The peer may read them at any time.
    #[inline]
    pub(crate) fn bytes_mut(&mut self, loan: &Loan) -> &mut [u8] {
        let segment = self.segment_mut(loan.segment).expect("a loan names a live segment");
        let end = loan.offset.checked_add(loan.len);
        assert!(end.is_some_and(|end| end <= segment.mapping.len()), "loan outside its segment");
        // SAFETY: the range was checked to lie in our writable mapping, which lives in `self`. The result borrows `self` exclusively and no other function
        // gives out references into the mapping, so it is the only one in this process; the peer can only read.
        unsafe {
            std::slice::from_raw_parts_mut(segment.mapping.address().add(loan.offset), loan.len)
        }
    }

    /// Notes that a loan's descriptor is about to be published.
    #[inline]
    pub(crate) fn lend(&mut self, loan: Loan) {
        let number = usize::from(loan.lend);
        self.loans[number] = Some(loan);
        self.lent[number / 64] |= 1 << (number % 64);
    }

    /// Takes back what the peer says, in an entry, that it released.
    #[inline]
    pub(crate) fn released(&mut self, lend: u16) -> Result<(), Violation> {
        let loan = self.loans.get_mut(usize::from(lend)).and_then(Option::take);
        let loan = loan.ok_or(Violation::Release(lend))?;
        self.lent[usize::from(lend) / 64] &= !(1 << (lend % 64));
        self.give_back(loan);
        Ok(())
    }

    /// Takes back everything whose release bit the peer has flipped.
    pub(crate) fn collect(&mut self) {
        for word in 0..self.lent.len() {
            if self.lent[word] == 0 {
                continue;
            }
            let found = self.peer.load(RELEASED_AT + 8 * word);
            // The peer's reads of the payload come before its flip, and our next writes after this.
            fence(Ordering::Acquire);
            let mut released = (found ^ self.seen[word]) & self.lent[word];
            self.seen[word] ^= released;
            self.lent[word] &= !released;
            while released != 0 {
                let number = word * 64 + released.trailing_zeros() as usize;
                released &= released - 1;
                if let Some(loan) = self.loans[number].take() {
                    self.give_back(loan);
                }
            }
        }
    }

    /// How large a new segment should be so that `len` bytes fit, with room to spare where the cap allows. `None` if the cap leaves no room for it.
    pub(crate) fn growth(&self, len: usize) -> Option<usize> {
        let needed = rounded(len).next_multiple_of(PAGE);
        let left = (self.cap - self.total) / PAGE * PAGE;
        let largest = self.segments.iter().map(|segment| segment.mapping.len()).max();
        let wanted = FIRST_SEGMENT.max(2 * needed).max(largest.map_or(0, |size| 2 * size));
        (needed <= left && self.segments.len() < MOST_SEGMENTS).then(|| wanted.min(left))
    }

    /// Whether more payload could be lent if there were space for it.
    pub(crate) fn has_numbers(&self) -> bool {
        !self.free_numbers.is_empty()
    }

    /// Adds a segment and gives its number.
    pub(crate) fn add(&mut self, mapping: Mapping) -> u32 {
        let number = self.next_number;
        self.next_number += 1;
        self.total += mapping.len();
        let free = FreeSpace::new(mapping.len());
        self.segments.push(PayloadSegment { number, mapping, free });
        number
    }

    /// Number of the segment that the next [`Self::add`] makes.
    pub(crate) fn next_number(&self) -> u32 {
        self.next_number
    }

    /// A segment in which nothing is taken.
    pub(crate) fn wholly_free(&self) -> Option<u32> {
        self.segments.iter().find(|segment| segment.free.is_whole()).map(|segment| segment.number)
    }

    /// Drops a wholly free segment.
    pub(crate) fn retire(&mut self, number: u32) {
        if let Some(index) = self.segments.iter().position(|segment| segment.number == number) {
            let segment = self.segments.remove(index);
            debug_assert!(segment.free.is_whole());
            self.total -= segment.mapping.len();
        }
    }
}
