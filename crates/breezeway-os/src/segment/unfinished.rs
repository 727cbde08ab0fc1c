//! Segments that are made in pieces, so that other work can be done between them.

use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;

use rustix::mm::MapFlags;

use super::{
    Mapping, PIECE, SegmentError, check_backed, check_headroom, seal, unbacked, write_zeros,
};
use crate::huge;
use crate::ledger::MemoryAccount;
use crate::placement::huge::HUGE;

/// A segment that does not have all of its pages yet. It counts on its account from the beginning.
#[derive(Debug)]
pub struct Unfinished {
    mapping: Mapping,
    fd: OwnedFd,
    /// Bytes whose pages exist.
    done: usize,
    /// True if the next page should be a huge one: then all before it are, and the size is a
    /// multiple of theirs.
    has_huge_pages: bool,
}

impl Unfinished {
    /// Begins a segment of the size that [`create_near`](super::create_near) would choose.
    ///
    /// # Errors
    ///
    /// Memory is short, or the account's limit is reached.
    pub fn begin(
        size: usize,
        bounds: RangeInclusive<usize>,
        account: &MemoryAccount,
    ) -> Result<Self, SegmentError> {
        let begin = |size| {
            let fd = unbacked(size)?;
            let mapping = Mapping::new(&fd, size, true, MapFlags::empty())?;
            Ok((mapping, fd))
        };
        let huge = huge::size_near(size, &bounds);
        let huge = huge.and_then(|size| account.make(size, begin).ok());
        let has_huge_pages = huge.is_some();
        let (mapping, fd) = match huge {
            Some(made) => made,
            None => account.make(size, begin)?,
        };
        Ok(Self { mapping, fd, done: 0, has_huge_pages })
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.mapping.size()
    }

    /// Allocates the next of its pages, usually for less than a millisecond. Returns true once all
    /// exist.
    ///
    /// # Errors
    ///
    /// Memory is short, even if there was enough for the whole segment when it was begun.
    pub fn go_on(&mut self) -> Result<bool, SegmentError> {
        self.go_on_if(check_headroom)
    }

    fn go_on_if(
        &mut self,
        check: impl FnOnce(usize) -> Result<(), SegmentError>,
    ) -> Result<bool, SegmentError> {
        let (done, size) = (self.done, self.size());
        debug_assert!(!self.has_huge_pages || (size - done).is_multiple_of(HUGE) && done < size);
        check(if self.has_huge_pages { HUGE } else { PIECE.min(size - done) })?;
        let address = self.mapping.address().cast();
        // The reason for the lack of huge pages does not matter.
        if self.has_huge_pages && huge::back(&self.fd, address, done..done + HUGE).is_ok() {
            self.done += HUGE;
        } else {
            self.has_huge_pages = false;
            self.done = size.min(done + PIECE);
            write_zeros(&self.fd, done..self.done)?;
        }
        Ok(self.done == size)
    }

    /// Seals the segment: returns the only writable mapping, and the descriptor for the peer.
    ///
    /// # Errors
    ///
    /// Some of its pages are missing.
    pub fn finish(self) -> Result<(Mapping, OwnedFd), SegmentError> {
        let size = self.size();
        check_backed(&self.fd, size)?;
        seal(&self.fd, size)?;
        Ok((self.mapping, self.fd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::accept;

    fn unfinished(size: usize) -> Unfinished {
        Unfinished::begin(size, size..=size, &MemoryAccount::default()).unwrap()
    }

    #[test]
    fn segment_made_in_pieces_is_one_that_a_peer_accepts() {
        for size in [4096, PIECE, PIECE + 4096, 3 * HUGE, 3 * HUGE + 4096] {
            let mut segment = unfinished(size);
            let mut pieces = 1;
            while !segment.go_on().unwrap() {
                pieces += 1;
            }
            assert!(pieces >= size / HUGE, "{pieces} pieces of {size} bytes");
            let (own, fd) = segment.finish().unwrap();
            assert_eq!(own.size(), size);
            assert_eq!(accept(fd.into(), size as u64).unwrap().size(), size);
        }
    }

    #[test]
    fn segment_that_lost_its_huge_pages_goes_on_with_small_ones() {
        let mut segment = unfinished(2 * HUGE);
        segment.go_on().unwrap();
        segment.has_huge_pages = false;
        while !segment.go_on().unwrap() {}
        segment.finish().unwrap();
    }

    #[test]
    fn piece_without_headroom_is_a_shortage_and_made_later() {
        for size in [PIECE + 4096, 2 * HUGE] {
            let mut segment = unfinished(size);
            segment.go_on().unwrap();
            let done = segment.done;
            let mut asked = 0;
            let refused = segment.go_on_if(|piece| {
                asked = piece;
                Err(SegmentError::NoHeadroom { size: piece, headroom: 0, file: String::new() })
            });
            assert!(refused.unwrap_err().is_shortage());
            assert_eq!(segment.done, done);
            assert!((4096..=size - done).contains(&asked), "{asked} of {size}");
            while !segment.go_on().unwrap() {}
            segment.finish().unwrap();
        }
    }

    #[test]
    fn segment_with_missing_pages_is_not_finished() {
        let mut segment = unfinished(8 * HUGE);
        segment.go_on().unwrap();
        assert!(matches!(segment.finish(), Err(SegmentError::NotBacked { .. })));
    }
}
