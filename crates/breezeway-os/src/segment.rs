//! Segments: memfds that one process writes, sealed so that no process, their owner included, can
//! shrink them or write them through another mapping. The rules are in section 3 of `docs/abi.md`;
//! `memfd_create(2)` and `fcntl(2)` describe the seals.

mod error;
mod foreign;
mod mapping;
mod unfinished;

use std::ffi::CStr;
use std::io::IoSlice;
use std::ops::{Range, RangeInclusive};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, SeekFrom, fallocate, fcntl_add_seals, ftruncate,
    memfd_create, seek,
};
use rustix::io::{Errno, pwritev};
use rustix::mm::MapFlags;
use rustix::process::Resource;

use self::error::limit_of;
use crate::huge;
use crate::ledger::MemoryAccount;
use crate::memory::check_headroom;
use crate::placement::huge::HUGE;

pub use error::SegmentError;
pub use foreign::{accept, map_foreign};
pub use mapping::{Mapping, PIECE};
pub use unfinished::Unfinished;

/// Seals that an owner sets.
const OWNER_SEALS: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::FUTURE_WRITE).union(SealFlags::SEAL);

/// Creates a sealed segment: returns the only writable mapping, and the descriptor for the peer.
pub fn create(size: usize) -> Result<(Mapping, OwnedFd), SegmentError> {
    let fd = unbacked(size)?;
    write_zeros(&fd, 0..size)?;
    let mapping = Mapping::new(&fd, size, true, MapFlags::POPULATE)?;
    seal(&fd, size)?;
    Ok((mapping, fd))
}

/// Creates a segment like [`create`], charged to `account`; where the kernel provides huge pages,
/// of a whole number of them within `bounds`. That is much faster and may take more memory.
pub fn create_near(
    size: usize,
    bounds: RangeInclusive<usize>,
    account: &MemoryAccount,
) -> Result<(Mapping, OwnedFd), SegmentError> {
    let huge = huge::size_near(size, &bounds);
    // The reason for the lack of huge pages does not matter.
    match huge.and_then(|size| account.make(size, create_of_huge_pages).ok()) {
        Some(made) => Ok(made),
        None => account.make(size, create),
    }
}

/// Creates a segment whose pages are allocated when they are first written, with its own name: for
/// data that tools read and no peer receives. A process that is out of memory then is killed by the
/// kernel, as it is for any other kind of memory.
pub fn create_sparse(name: &CStr, size: usize) -> Result<(Mapping, OwnedFd), SegmentError> {
    let fd = named(name, size)?;
    let mapping = Mapping::new(&fd, size, true, MapFlags::empty())?;
    seal(&fd, size)?;
    Ok((mapping, fd))
}

/// Tests that a segment can have huge pages now.
///
/// # Errors
///
/// The reason why it cannot.
pub fn try_huge_page() -> Result<(), SegmentError> {
    create_of_huge_pages(HUGE).map(drop)
}

fn create_of_huge_pages(size: usize) -> Result<(Mapping, OwnedFd), SegmentError> {
    let fd = unbacked(size)?;
    let mapping = Mapping::new(&fd, size, true, MapFlags::empty())?;
    huge::back(&fd, mapping.address().cast(), 0..size).map_err(|source| SegmentError::Call {
        call: "madvise(MADV_COLLAPSE)",
        size,
        source,
    })?;
    check_backed(&fd, size)?;
    seal(&fd, size)?;
    Ok((mapping, fd))
}

/// Checks that all pages exist. A system that emulates Linux may ignore advice that it does not
/// know, and report success.
fn check_backed(fd: &OwnedFd, size: usize) -> Result<(), SegmentError> {
    let hole = |source| SegmentError::Call { call: "lseek", size, source };
    let backed = seek(fd, SeekFrom::Hole(0)).map_err(hole)?;
    if backed < size as u64 {
        return Err(SegmentError::NotBacked { backed, size: size as u64 });
    }
    Ok(())
}

/// Creates a memfd without pages.
fn unbacked(size: usize) -> Result<OwnedFd, SegmentError> {
    check_headroom(size)?;
    named(c"breezeway", size)
}

fn named(name: &CStr, size: usize) -> Result<OwnedFd, SegmentError> {
    let failed = |call| move |source| SegmentError::Call { call, size, source };
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = match memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(name, flags),
        other => other,
    }
    .map_err(failed("memfd_create"))?;
    check_file_size(size)?;
    ftruncate(&fd, size as u64).map_err(failed("ftruncate"))?;
    Ok(fd)
}

/// Checks that this process may make a file of this size: beyond its limit `ftruncate(2)` ends the
/// process by SIGXFSZ.
///
/// # Errors
///
/// [`SegmentError::FileSize`].
pub fn check_file_size(size: usize) -> Result<(), SegmentError> {
    match limit_of(Resource::Fsize) {
        Some(limit) if limit < size as u64 => Err(SegmentError::FileSize { size, limit }),
        _ => Ok(()),
    }
}

/// Allocates the pages of a part of a memfd. Writing is faster than `fallocate`, after which each
/// page is cleared by a fault of its own.
fn write_zeros(fd: &OwnedFd, part: Range<usize>) -> Result<(), SegmentError> {
    const AT_ONCE: usize = 64;
    static ZEROS: [u8; 4096] = [0; 4096];
    let size = part.len();
    let mut written = part.start;
    while written < part.end {
        let mut slices = [IoSlice::new(&[]); AT_ONCE];
        let mut left = part.end - written;
        for slice in &mut slices {
            let len = left.min(ZEROS.len());
            *slice = IoSlice::new(&ZEROS[..len]);
            left -= len;
        }
        match pwritev(fd, &slices, written as u64) {
            Ok(0) => Err(Errno::NOSPC),
            Ok(len) => {
                written += len;
                Ok(())
            }
            Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
        .map_err(|source| SegmentError::Call { call: "pwritev", size, source })?;
    }
    Ok(())
}

fn seal(fd: &OwnedFd, size: usize) -> Result<(), SegmentError> {
    let failed = |source| SegmentError::Call { call: "fcntl(F_ADD_SEALS)", size, source };
    fcntl_add_seals(fd, OWNER_SEALS).map_err(failed)
}

/// Tests once per process that sealed memfds work on this machine.
pub fn probe() -> Result<(), SegmentError> {
    static PASSED: AtomicBool = AtomicBool::new(false);
    if !PASSED.load(Ordering::Relaxed) {
        try_seals()?;
        PASSED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn try_seals() -> Result<(), SegmentError> {
    const SIZE: usize = 4096;
    let (_own, fd) = create(SIZE)?;
    if Mapping::new(&fd, SIZE, true, MapFlags::empty()).is_ok() {
        return Err(SegmentError::Probe("a sealed memfd could be mapped writable again"));
    }
    if rustix::io::pwrite(&fd, &[0], 0).is_ok() {
        return Err(SegmentError::Probe("a sealed memfd could be written"));
    }
    if ftruncate(&fd, 0).is_ok() {
        return Err(SegmentError::Probe("a sealed memfd could be truncated"));
    }
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    if fallocate(&fd, punch, 0, SIZE as u64).is_ok() {
        return Err(SegmentError::Probe("a hole could be punched into a sealed memfd"));
    }
    accept(fd.into(), SIZE as u64).map(drop)
}

#[cfg(test)]
mod tests {
    use rustix::fs::fstat;
    use rustix::mm::{Advice, madvise};

    use super::*;

    #[test]
    fn this_machine_passes_its_probe() {
        probe().unwrap();
    }

    #[test]
    fn a_segment_is_accepted_by_its_receiver() {
        let (own, fd) = create(8192).unwrap();
        let foreign = accept(fd.into(), 8192).unwrap();
        assert_eq!((own.size(), foreign.size()), (8192, 8192));
    }

    fn first_hole(fd: &OwnedFd) -> u64 {
        seek(fd, SeekFrom::Hole(0)).unwrap()
    }

    /// Checks the peer's view of a segment that its owner has filled.
    fn arrives(own: &Mapping, fd: OwnedFd) {
        let (size, address) = (own.size(), own.address());
        // SAFETY: a writable mapping of that size, which no other code writes.
        unsafe { std::slice::from_raw_parts_mut(address, size) }.fill(7);
        let foreign = accept(fd.into(), size as u64).unwrap();
        // SAFETY: mapped, and no longer written.
        let seen = unsafe { std::slice::from_raw_parts(foreign.address(), size) };
        assert!(seen.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn sealed_segment_keeps_bytes_after_page_out() {
        let size = 1 << 16;
        let (own, fd) = create(size).unwrap();
        let foreign = accept(fd.try_clone().unwrap().into(), size as u64).unwrap();
        // SAFETY: a writable mapping of that size, which no other code writes.
        unsafe { std::slice::from_raw_parts_mut(own.address(), size) }.fill(7);
        for advice in [Advice::LinuxCold, Advice::LinuxPageOut, Advice::LinuxDontNeed] {
            // SAFETY: the mapping is shared, so its bytes are the file's.
            unsafe { madvise(own.address().cast(), size, advice) }.unwrap();
        }
        // MADV_REMOVE frees pages of the file: sealed, it has to refuse.
        // SAFETY: the range is the mapping's, and no reference into it is alive; the sealed file
        // refuses the advice.
        let removed = unsafe { madvise(own.address().cast(), size, Advice::LinuxRemove) };
        assert_eq!(removed, Err(Errno::PERM));
        // SAFETY: mapped, and no longer written.
        let seen = unsafe { std::slice::from_raw_parts(foreign.address(), size) };
        assert!(seen.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn every_page_of_a_new_segment_is_there_and_zero() {
        for size in [4096, 3 * 4096, 300 * 1024, 3 << 20] {
            let (own, fd) = create(size).unwrap();
            assert_eq!((own.size(), first_hole(&fd)), (size, size as u64));
            assert!(fstat(&fd).unwrap().st_blocks as usize * 512 >= size);
            // SAFETY: mapped, and not written.
            let bytes = unsafe { std::slice::from_raw_parts(own.address(), size) };
            assert!(bytes.iter().all(|&byte| byte == 0));
            arrives(&own, fd);
        }
    }

    #[test]
    fn large_segment_stays_within_its_bounds() {
        for (size, most) in [(4096, HUGE), (3 << 19, HUGE), (3 << 20, 8 << 20), (5 << 20, 5 << 20)]
        {
            let (own, fd) = create_near(size, 4096..=most, &MemoryAccount::default()).unwrap();
            assert!(own.size() <= most, "{}", own.size());
            assert!(own.size() == size || own.size().is_multiple_of(HUGE));
            assert_eq!(first_hole(&fd), own.size() as u64);
            arrives(&own, fd);
        }
    }
}
