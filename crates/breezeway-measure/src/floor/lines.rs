//! The memory that the two processes of a measurement share.
//!
//! ```text
//!      0  sequence of the measuring side   (u64)
//!    256  sequence of the partner          (u64)
//!    512  futex word of the measuring side (u32)
//!    768  futex word of the partner        (u32)
//!   4096  payload of the measuring side    (P bytes, whole pages)
//! 4096+P  payload of the partner           (P bytes)
//! ```
//!
//! 256 bytes apart, neither the line nor the neighbour that some CPUs fetch along with it is
//! shared.
#![allow(unsafe_code, reason = "maps memory that two processes share")]

use super::FloorError;
use super::payload::Payload;
use super::spin::{Spin, spin_until};
use rustix::fs::{self, FallocateFlags, MemfdFlags};
use rustix::mm::{self, MapFlags, ProtFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

const ASK: usize = 0;
const ANSWER: usize = 256;
const ASK_FUTEX: usize = 512;
const ANSWER_FUTEX: usize = 768;
const HEADER: usize = 4096;

/// The sequence that asks the partner to end.
pub(super) const STOP: u64 = u64::MAX;

/// Memory for one measurement, mapped writable by both of its processes.
///
/// A plain memfd without seals. Serves one `measure` and one `answer`.
#[derive(Debug)]
pub(crate) struct SharedLines {
    fd: OwnedFd,
    map: NonNull<u8>,
    length: usize,
    payload: usize,
}

// SAFETY: the mapping belongs to no thread and is unmapped only by Drop, which owns the value.
unsafe impl Send for SharedLines {}

impl SharedLines {
    /// `memfd_create` and `mmap`: new memory with room for `payload` bytes in each direction.
    ///
    /// # Errors
    ///
    /// [`FloorError::System`] if the memory cannot be had.
    pub(crate) fn create(payload: usize) -> Result<Self, FloorError> {
        let payload = payload
            .checked_next_multiple_of(HEADER)
            .filter(|&payload| payload <= isize::MAX as usize / 4)
            .ok_or(FloorError::TooLarge { size: payload, limit: isize::MAX as usize / 4 })?;
        Self::map(memory("breezeway-floor", (HEADER + 2 * payload) as u64)?, payload)
    }

    /// Maps the memory that the measuring process created and handed over.
    ///
    /// # Errors
    ///
    /// [`FloorError::NotFloorMemory`] if `fd` is something else.
    pub(crate) fn open(fd: OwnedFd) -> Result<Self, FloorError> {
        let status = fs::fstat(&fd).map_err(FloorError::system("fstat"))?;
        let size = status.st_size.unsigned_abs();
        let is_file = fs::FileType::from_raw_mode(status.st_mode) == fs::FileType::RegularFile;
        let payload = payload_of(size).filter(|_| is_file);
        Self::map(fd, payload.ok_or(FloorError::NotFloorMemory(size))?)
    }

    /// Returns a duplicate of the descriptor for the partner.
    ///
    /// # Errors
    ///
    /// [`FloorError::System`] if the process has reached its limit of descriptors.
    pub(crate) fn share(&self) -> Result<OwnedFd, FloorError> {
        rustix::io::fcntl_dupfd_cloexec(&self.fd, 0).map_err(FloorError::system("fcntl"))
    }

    fn map(fd: OwnedFd, payload: usize) -> Result<Self, FloorError> {
        let length = HEADER + 2 * payload;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours. It
        // is `length` bytes long and `fd` holds as many.
        let start = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let flags = MapFlags::SHARED | MapFlags::POPULATE;
            mm::mmap(std::ptr::null_mut(), length, access, flags, &fd, 0)
        };
        let start = start.map_err(FloorError::system("mmap"))?;
        let map = NonNull::new(start.cast()).ok_or(FloorError::NotFloorMemory(0))?;
        Ok(Self { fd, map, length, payload })
    }

    pub(super) fn ask(&self) -> &AtomicU64 {
        self.word(ASK)
    }

    pub(super) fn answer(&self) -> &AtomicU64 {
        self.word(ANSWER)
    }

    pub(super) fn ask_futex(&self) -> &AtomicU32 {
        self.word(ASK_FUTEX)
    }

    pub(super) fn answer_futex(&self) -> &AtomicU32 {
        self.word(ANSWER_FUTEX)
    }

    /// The payloads of the measuring side and of the partner, of `size` bytes each.
    pub(super) fn payloads(&self, size: usize) -> Result<(Payload<'_>, Payload<'_>), FloorError> {
        if size > self.payload {
            return Err(FloorError::TooLarge { size, limit: self.payload });
        }
        // SAFETY: `map` is valid for HEADER + 2 * self.payload bytes while `self` is borrowed, and
        // size <= self.payload, so both lie inside and apart. Page-aligned starts suit any lane,
        // and a payload's size, being at most whole pages, may be rounded up to whole lanes.
        unsafe {
            let ask = self.map.add(HEADER);
            let answer = self.map.add(HEADER + self.payload);
            Ok((Payload::new(ask, size), Payload::new(answer, size)))
        }
    }

    fn word<T: SharedWord>(&self, offset: usize) -> &T {
        debug_assert!(offset + size_of::<T>() <= HEADER && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: `offset` is one of the constants above: inside the header, 256-byte aligned, and
        // used for one type only. The mapping lives as long as `self`. The other process may write
        // at any time, which an atomic allows, and every bit pattern is a valid value.
        unsafe { self.map.add(offset).cast::<T>().as_ref() }
    }
}

/// Types that may be shared with another process: atomic integers.
trait SharedWord {}
impl SharedWord for AtomicU32 {}
impl SharedWord for AtomicU64 {}

impl AsFd for SharedLines {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for SharedLines {
    fn drop(&mut self) {
        // SAFETY: `map` and `length` are what mmap returned; nothing borrowed from `self` is left.
        // It cannot fail for such a range, and there is nothing to do if it did.
        let _ = unsafe { mm::munmap(self.map.as_ptr().cast(), self.length) };
    }
}

/// New memory that can be shared: a plain memfd, all of it there.
pub(super) fn memory(name: &str, length: u64) -> Result<OwnedFd, FloorError> {
    let fd =
        fs::memfd_create(name, MemfdFlags::CLOEXEC).map_err(FloorError::system("memfd_create"))?;
    fs::ftruncate(&fd, length).map_err(FloorError::system("ftruncate"))?;
    fs::fallocate(&fd, FallocateFlags::empty(), 0, length)
        .map_err(FloorError::system("fallocate"))?;
    Ok(fd)
}

/// The payload size of floor memory of `size` bytes, if that is a possible size.
fn payload_of(size: u64) -> Option<usize> {
    let both = usize::try_from(size).ok()?.checked_sub(HEADER)?;
    both.is_multiple_of(2 * HEADER).then_some(both / 2)
}

/// Asks the partner to end when the measurement does, also when it fails.
pub(super) struct StopOnDrop<'a>(pub(super) &'a SharedLines);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.ask().store(STOP, Ordering::Release);
    }
}

/// Spins with plain loads until `word` differs from `previous`.
///
/// The loads are relaxed; a caller that then reads the peer's payload needs an acquire fence.
#[inline(always)]
pub(super) fn spin_past(
    word: &AtomicU64,
    previous: u64,
    spin: Spin,
    limit: Duration,
) -> Result<u64, FloorError> {
    spin_until(spin, limit, || {
        Some(word.load(Ordering::Relaxed)).filter(|&value| value != previous)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn both_mappings_show_the_same_words() {
        let ours = SharedLines::create(100).unwrap();
        let theirs = SharedLines::open(ours.share().unwrap()).unwrap();
        ours.ask().store(7, Ordering::Relaxed);
        theirs.answer().store(9, Ordering::Relaxed);
        assert_eq!(theirs.ask().load(Ordering::Relaxed), 7);
        assert_eq!(ours.answer().load(Ordering::Relaxed), 9);
        assert_eq!(theirs.payload, HEADER);
    }

    #[test]
    fn every_word_has_a_line_of_its_own() {
        let mut offsets = [ASK, ANSWER, ASK_FUTEX, ANSWER_FUTEX, HEADER];
        offsets.sort_unstable();
        assert!(offsets.windows(2).all(|pair| pair[1] - pair[0] >= 128));
    }

    #[test]
    fn a_descriptor_of_another_size_is_refused() {
        for size in [0, 1, 4095, 4097, 8192] {
            let fd = fs::memfd_create("other", MemfdFlags::CLOEXEC).unwrap();
            fs::ftruncate(&fd, size).unwrap();
            assert_eq!(SharedLines::open(fd).unwrap_err(), FloorError::NotFloorMemory(size));
        }
    }

    #[test]
    fn a_descriptor_that_is_no_file_is_refused() {
        for path in ["/dev/null", "/"] {
            let fd = OwnedFd::from(File::open(path).unwrap());
            assert!(matches!(SharedLines::open(fd), Err(FloorError::NotFloorMemory(_))));
        }
    }

    #[test]
    fn a_descriptor_open_for_reading_only_is_refused() {
        let lines = SharedLines::create(0).unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&lines.as_fd()));
        let read_only = OwnedFd::from(File::open(path).unwrap());
        let error = SharedLines::open(read_only).unwrap_err();
        assert!(matches!(error, FloorError::System { call: "mmap", .. }));
    }

    #[test]
    fn absurd_payloads_are_refused() {
        for size in [usize::MAX, isize::MAX as usize] {
            assert!(matches!(SharedLines::create(size), Err(FloorError::TooLarge { .. })));
        }
        let lines = SharedLines::create(4096).unwrap();
        assert!(lines.payloads(4096).is_ok());
        let error = lines.payloads(4097).err();
        assert_eq!(error, Some(FloorError::TooLarge { size: 4097, limit: 4096 }));
    }

    #[test]
    fn a_silent_other_side_ends_the_wait() {
        let word = AtomicU64::new(3);
        let limit = Duration::from_millis(1);
        assert_eq!(spin_past(&word, 3, Spin::Tight, limit), Err(FloorError::NoAnswer(limit)));
        assert_eq!(spin_past(&word, 2, Spin::Tight, limit), Ok(3));
    }
}
