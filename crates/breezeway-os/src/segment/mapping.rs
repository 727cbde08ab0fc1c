//! Mappings of segments into this process, writable by their owner and read-only otherwise.

use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};

use super::SegmentError;
use crate::copy::copy_from_foreign;
use crate::fork::Origin;
use crate::huge;
use crate::placement::huge::HUGE;
use crate::unmap::unmap;

/// Bytes whose pages [`Mapping::populate`] populates at once, in a small part of a slice.
pub const PIECE: usize = 1 << 20;
/// Smallest page size.
const PAGE: usize = 4096;

/// A mapped run of memory, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    address: NonNull<u8>,
    len: usize,
    /// Process of a writable mapping; a forked child does not have it.
    origin: Option<Origin>,
}

// SAFETY: a mapping is an address range, and munmap may be called from any thread. The type gives
// out a raw address; the types that hold it decide which accesses to its bytes are sound.
unsafe impl Send for Mapping {}
// SAFETY: `&Mapping` gives the raw address and the length, and reads none of the bytes.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a whole memfd; with `POPULATE` among the flags also its pages, so that the first touch
    /// does not fault.
    pub(super) fn new(
        fd: impl AsFd,
        len: usize,
        writable: bool,
        populate: MapFlags,
    ) -> Result<Self, SegmentError> {
        let failed = |call| move |source| SegmentError::Call { call, size: len, source };
        let protection =
            if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let flags = MapFlags::SHARED | populate;
        let address = if len >= HUGE {
            huge::map_aligned(fd, len, protection, flags)
        } else {
            // SAFETY: a new mapping at an address of the kernel's choice aliases no Rust object.
            unsafe { mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) }
        }
        .map_err(failed("mmap"))?;
        let address =
            NonNull::new(address.cast()).expect("mmap never returns null without an error");
        let mapping = Self { address, len, origin: writable.then(Origin::here) };
        if writable {
            // SAFETY: the advice concerns just the mapping made above.
            unsafe { madvise(address.as_ptr().cast(), len, Advice::LinuxDontFork) }
                .map_err(failed("madvise"))?;
        }
        Ok(mapping)
    }

    /// Populates the next pages of a mapping for reading, so that their first touch does not fault:
    /// from `done` bytes on, as many as take about half a slice. Returns the number of populated
    /// bytes. Pages that the kernel does not populate are mapped when they are touched.
    pub fn populate(&self, done: usize) -> usize {
        self.populate_by(done, |address, len| {
            // SAFETY: `populate_by` gives a range of this mapping, whose pages are there already:
            // populating them changes none.
            unsafe { madvise(address.cast(), len, Advice::LinuxPopulateRead) }
        })
    }

    fn populate_by(
        &self,
        done: usize,
        advise: impl FnOnce(*mut u8, usize) -> Result<(), Errno>,
    ) -> usize {
        let piece = PIECE.min(self.len - done);
        let start = self.address.as_ptr().wrapping_add(done);
        // Linux before 5.14 lacks this advice. Where it fails for another reason, such as a broken
        // page, a touch would fail too.
        if advise(start, piece) == Err(Errno::INVAL) {
            for offset in (0..piece).step_by(PAGE) {
                let mut byte = 0;
                // SAFETY: inside this mapping, which is readable, and `byte` is this function's.
                unsafe { copy_from_foreign(&raw mut byte, start.wrapping_add(offset), 1) };
            }
        }
        done + piece
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.origin.is_some_and(|origin| !origin.is_here()) {
            // A forked child never had this range; another mapping may be there now.
            return;
        }
        // SAFETY: the range was mapped by `new`, and all users of pointers into it hold the mapping
        // by reference count.
        unsafe { unmap(self.address, self.len) };
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::descriptor::ForeignDescriptor;
    use crate::segment::{create, map_foreign};

    /// Returns the number of populated pages in a range, by `proc_pid_pagemap(5)`.
    fn entered(mapping: &Mapping, range: Range<usize>) -> usize {
        let pagemap = std::fs::File::open("/proc/self/pagemap").unwrap();
        let first_page = (mapping.address().addr() + range.start) / PAGE;
        let mut words = vec![0; range.len() / PAGE * 8];
        pagemap.read_exact_at(&mut words, first_page as u64 * 8).unwrap();
        words.chunks(8).filter(|word| word[7] & 0x80 != 0).count()
    }

    /// Returns a peer's segment of one piece and two pages, none of which is populated.
    fn foreign_of_two_pieces() -> Mapping {
        let size = PIECE + 2 * PAGE;
        let (_own, fd) = create(size).unwrap();
        map_foreign(&ForeignDescriptor::from(fd), 1..=size as u64).unwrap()
    }

    #[test]
    fn populate_without_kernel_support_touches_pages() {
        let foreign = foreign_of_two_pieces();
        assert_eq!(entered(&foreign, 0..foreign.size()), 0);
        let mut done = 0;
        for expected in [PIECE, foreign.size()] {
            done = foreign.populate_by(done, |_, _| Err(Errno::INVAL));
            assert_eq!(done, expected);
            assert_eq!(entered(&foreign, 0..done), done / PAGE);
        }
    }

    #[test]
    fn failed_piece_is_skipped_and_next_is_populated() {
        let foreign = foreign_of_two_pieces();
        for error in [Errno::NOMEM, Errno::FAULT, Errno::AGAIN] {
            assert_eq!(foreign.populate_by(0, |_, _| Err(error)), PIECE);
            assert_eq!(entered(&foreign, 0..foreign.size()), 0);
        }
        assert_eq!(foreign.populate(PIECE), foreign.size());
        assert_eq!(entered(&foreign, PIECE..foreign.size()), 2);
    }
}
