//! Huge pages behind large segments.
//!
//! Faults on small pages cost many times those on a huge one: `make bench-cold`. `MADV_COLLAPSE`
//! (madvise(2), Linux 6.1) requests a huge page whatever the setting
//! `/sys/kernel/mm/transparent_hugepage/shmem_enabled` is, unless that is `deny`.

use std::ffi::c_void;
use std::ops::{Range, RangeInclusive};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::{Errno, pwrite};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use crate::clock;
use crate::placement::huge::{HUGE, MOST, PAUSE, REST, SMALL, SMALL_ONES, WINDOW};

/// Time from which huge pages may be requested again, in clock ticks.
static NOT_BEFORE: AtomicU64 = AtomicU64::new(0);
/// Average time of a huge page, in clock ticks.
static AVERAGE: AtomicU64 = AtomicU64::new(0);

/// Returns the size of a segment of about `size` bytes in whole huge pages; `None` if it should
/// have small pages.
pub(crate) fn size_near(size: usize, bounds: &RangeInclusive<usize>) -> Option<usize> {
    if size <= SMALL || clock::ticks() < NOT_BEFORE.load(Ordering::Relaxed) {
        return None;
    }
    let fits = |size: &usize| bounds.contains(size) && *size > 0;
    let up = size.checked_next_multiple_of(HUGE).filter(fits);
    up.or_else(|| Some(*bounds.end() / HUGE * HUGE).filter(fits))
}

/// Maps the first `len` bytes of a file shared, aligned for huge pages.
pub(crate) fn map_aligned(
    fd: impl AsFd,
    len: usize,
    protection: ProtFlags,
    flags: MapFlags,
) -> Result<*mut c_void, Errno> {
    let reserved_len = len.checked_add(HUGE).ok_or(Errno::NOMEM)?;
    let flags_of_reserve = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice aliases no Rust object.
    let reserved = unsafe {
        mmap_anonymous(std::ptr::null_mut(), reserved_len, ProtFlags::empty(), flags_of_reserve)
    }?;
    let before = reserved.addr().next_multiple_of(HUGE) - reserved.addr();
    let start = reserved.wrapping_byte_add(before);
    // SAFETY: replaces a part of the range that was reserved above, which no other code knows.
    let mapped = unsafe { mmap(start, len, protection, flags | MapFlags::FIXED, fd, 0) };
    // Unmapped also after an error. The range between may then be unmapped or, if the kernel
    // unmapped it first, belong to another thread.
    let surplus = [(reserved, before), (start.wrapping_byte_add(len), HUGE - before)];
    for (address, len) in surplus.into_iter().filter(|&(_, len)| len > 0) {
        // SAFETY: an end of the reserved range, in which nothing lies. Cutting it off fails only
        // for lack of memory for a mapping's description; the rest then costs address space.
        let _ = unsafe { munmap(address, len) };
    }
    mapped
}

/// Puts huge pages behind a part of a file that has no pages there yet, and maps them. `address` is
/// the result of [`map_aligned`] for the file, all of which has huge pages. On an error the part
/// may be partly backed.
pub(crate) fn back(fd: impl AsFd, address: *mut c_void, part: Range<usize>) -> Result<(), Errno> {
    let start = clock::ticks();
    let outcome = try_to_back(fd, address, part.clone());
    let now = clock::ticks();
    let pause = match outcome {
        Ok(()) => {
            let taken = now.wrapping_sub(start) / (part.len() / HUGE) as u64;
            // If two threads store at the same time, one result may be lost.
            let average = average_with(AVERAGE.load(Ordering::Relaxed), taken);
            AVERAGE.store(average, Ordering::Relaxed);
            pause_after(average, taken)
        }
        Err(_) => clock::ticks_in(PAUSE),
    };
    if pause > 0 {
        // Another thread may have found a longer pause.
        NOT_BEFORE.fetch_max(now + pause, Ordering::Relaxed);
    }
    outcome
}

/// Returns the average over the last segments, including one that took `taken` ticks per page.
fn average_with(average: u64, taken: u64) -> u64 {
    average - average / WINDOW + taken.min(MOST * clock::ticks_in(SMALL_ONES)) / WINDOW
}

/// Returns the clock ticks in which no huge page is requested after one that took `taken`.
fn pause_after(average: u64, taken: u64) -> u64 {
    let is_long = average > clock::ticks_in(SMALL_ONES);
    let rest = || REST.saturating_mul(average.max(taken)).min(clock::ticks_in(PAUSE));
    if is_long { rest() } else { 0 }
}

fn try_to_back(fd: impl AsFd, address: *mut c_void, part: Range<usize>) -> Result<(), Errno> {
    // A range without a page is not collapsed.
    for offset in part.clone().step_by(HUGE) {
        pwrite(&fd, &[0], offset as u64)?;
    }
    let (address, len) = (address.wrapping_byte_add(part.start), part.len());
    // SAFETY: both callers in `segment` pass a part in whole huge pages of a mapping whose size is
    // a multiple of theirs, so the range is within the mapping. The advice changes the backing of
    // the range, not its contents.
    if unsafe { libc::madvise(address, len, libc::MADV_COLLAPSE) } != 0 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
    }
    // SAFETY: the same range; the advice enters its pages and changes none of their bytes.
    unsafe { madvise(address, len, Advice::LinuxPopulateRead) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_is_rounded_to_huge_pages_within_bounds() {
        let near = |size, bounds| size_near(size, &bounds);
        assert_eq!(near(SMALL, 1..=usize::MAX), None);
        assert_eq!(near(SMALL + 1, 1..=usize::MAX), Some(HUGE));
        assert_eq!(near(HUGE, 1..=HUGE), Some(HUGE));
        assert_eq!(near(HUGE + 1, 1..=4 * HUGE), Some(2 * HUGE));
        assert_eq!(near(HUGE + 8192, HUGE..=HUGE + 8192), Some(HUGE));
        assert_eq!(near(HUGE + 8192, HUGE + 4096..=HUGE + 8192), None);
        assert_eq!(near(HUGE - 4096, 4096..=HUGE - 4096), None);
    }

    #[test]
    fn huge_pages_pause_while_slower_on_average() {
        let (usual, tick) = (clock::ticks_in(SMALL_ONES) / 8, 4 * clock::ticks_in(SMALL_ONES));
        let after = |taken: &[u64]| {
            let average = taken.iter().fold(0, |average, &ticks| average_with(average, ticks));
            pause_after(average, *taken.last().unwrap())
        };
        assert_eq!(after(&[usual; 100]), 0);
        for slow in [tick, 50 * tick, u64::MAX] {
            assert_eq!(after(&[&[usual; 100][..], &[slow]].concat()), 0, "by itself");
            assert!(after(&[slow; 8]) > 0);
            assert_eq!(after(&[&[slow; 100][..], &[usual; 48]].concat()), 0, "and then no more");
        }
        let some: Vec<u64> =
            (0..100).map(|index| if index % 10 == 0 { tick } else { usual }).collect();
        assert_eq!(after(&some[..91]), 0, "one of ten");
        assert_eq!(after(&[tick; 8]), REST * tick);
        assert_eq!(after(&[u64::MAX; 8]), clock::ticks_in(PAUSE));
    }
}
