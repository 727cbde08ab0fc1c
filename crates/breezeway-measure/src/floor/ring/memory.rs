//! The memory of a bare ring.
//!
//! ```text
//! each half       0  control segment with its ring, as in docs/abi.md, section 3.1
//!           RING_END  payload (P bytes, whole pages)
//! ```
//!
//! The first half is the measuring side's, the second one the partner's.
#![allow(unsafe_code, reason = "maps memory that two processes share")]

use super::super::FloorError;
use super::super::lines::memory;
use super::super::payload::Payload;
use breezeway_shm::layout::{
    DATA_WAKE_AT, ENTRY_SIZE, ENTRY_WORDS, NO_WAKE, RING_AT, SPACE_WAKE_AT, control_size,
};
use rustix::fs;
use rustix::mm::{self, MapFlags, ProtFlags};
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries, as in a session by default.
pub(super) const CAPACITY: u64 = 256;

const RING_END: usize = control_size(CAPACITY as u32);
const PAGE: usize = 4096;

/// Memory for one measurement: this side's half is writable here, the other one is not.
#[derive(Debug)]
pub(crate) struct SharedRings {
    fd: OwnedFd,
    pub(super) own: Half,
    pub(super) peer: Half,
}

impl SharedRings {
    /// `memfd_create` and `mmap`: new memory with room for `payload` bytes in each direction.
    ///
    /// # Errors
    ///
    /// [`FloorError::System`] if the memory cannot be had.
    pub(crate) fn create(payload: usize) -> Result<Self, FloorError> {
        let limit = isize::MAX as usize / 4;
        let half = payload
            .checked_next_multiple_of(PAGE)
            .filter(|&payload| payload <= limit)
            .ok_or(FloorError::TooLarge { size: payload, limit })?
            + RING_END;
        let fd = memory("breezeway-ring", 2 * half as u64)?;
        Self::map(fd, half, [0, 1])
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
        let half = half_of(size).filter(|_| is_file).ok_or(FloorError::NotFloorMemory(size))?;
        Self::map(fd, half, [1, 0])
    }

    /// Returns a duplicate of the descriptor for the partner.
    ///
    /// # Errors
    ///
    /// [`FloorError::System`] if the process has reached its limit of descriptors.
    pub(crate) fn share(&self) -> Result<OwnedFd, FloorError> {
        rustix::io::fcntl_dupfd_cloexec(&self.fd, 0).map_err(FloorError::system("fcntl"))
    }

    fn map(fd: OwnedFd, half: usize, [own, peer]: [usize; 2]) -> Result<Self, FloorError> {
        let own = Half::map(&fd, own, half, ProtFlags::READ | ProtFlags::WRITE)?;
        let peer = Half::map(&fd, peer, half, ProtFlags::READ)?;
        for intent in [DATA_WAKE_AT, SPACE_WAKE_AT] {
            own.word(intent).store(NO_WAKE, Ordering::Relaxed);
        }
        Ok(Self { fd, own, peer })
    }
}

/// One side's half, mapped.
#[derive(Debug)]
pub(super) struct Half {
    map: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to no thread and is unmapped only by Drop, which owns the value.
unsafe impl Send for Half {}

impl Half {
    fn map(
        fd: &OwnedFd,
        number: usize,
        length: usize,
        access: ProtFlags,
    ) -> Result<Self, FloorError> {
        let (flags, offset) = (MapFlags::SHARED | MapFlags::POPULATE, (number * length) as u64);
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours. The
        // file holds two halves of `length` bytes.
        let start = unsafe { mm::mmap(std::ptr::null_mut(), length, access, flags, fd, offset) };
        let start = start.map_err(FloorError::system("mmap"))?;
        let map = NonNull::new(start.cast()).ok_or(FloorError::NotFloorMemory(0))?;
        Ok(Self { map, length })
    }

    /// The control segment's word at `offset`. Only those of the own half may be stored to.
    #[inline(always)]
    pub(super) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset + 8 <= RING_END && offset.is_multiple_of(8));
        // SAFETY: inside of the mapping, which lives as long as `self`, and aligned. The other
        // process may write its half at any time, which an atomic allows, and every bit pattern is
        // a valid value. Nothing but `own` is stored to, by the callers in this module's parent.
        unsafe { self.map.add(offset).cast().as_ref() }
    }

    /// The entry at `position`.
    #[inline(always)]
    pub(super) fn entry(&self, position: u64) -> &[AtomicU64; ENTRY_WORDS] {
        let offset = RING_AT + (position % CAPACITY) as usize * ENTRY_SIZE;
        // SAFETY: as in `word`: below CAPACITY, so all of the entry lies inside of the ring.
        unsafe { self.map.add(offset).cast().as_ref() }
    }

    /// `size` bytes of payload at `offset`, a multiple of 64. Only that of the own half may be
    /// stored to.
    pub(super) fn payload(&self, offset: usize, size: usize) -> Result<Payload<'_>, FloorError> {
        let limit = self.length - RING_END;
        let end = offset.checked_add(size.next_multiple_of(64));
        if end.is_none_or(|end| end > limit) || !offset.is_multiple_of(64) {
            return Err(FloorError::TooLarge { size, limit });
        }
        // SAFETY: `size` bytes, rounded up to whole lanes, lie inside of the mapping, which is
        // borrowed; pages and multiples of 64 suit any lane. A store to the peer's half,
        // which no caller makes, would fault and change nothing.
        Ok(unsafe { Payload::new(self.map.add(RING_END + offset), size) })
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        // SAFETY: `map` and `length` are what mmap returned; nothing borrowed from `self` is left.
        // It cannot fail for such a range, and there is nothing to do if it did.
        let _ = unsafe { mm::munmap(self.map.as_ptr().cast(), self.length) };
    }
}

/// Bytes of a half of floor memory of `size` bytes, if that is a possible size.
fn half_of(size: u64) -> Option<usize> {
    let size = usize::try_from(size).ok()?;
    let half = size / 2;
    (half >= RING_END && size.is_multiple_of(2 * PAGE)).then_some(half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use breezeway_shm::layout::CONSUMED_AT;

    #[test]
    fn each_side_reads_the_others_writes() {
        let ours = SharedRings::create(100).unwrap();
        let theirs = SharedRings::open(ours.share().unwrap()).unwrap();
        ours.own.word(CONSUMED_AT).store(7, Ordering::Relaxed);
        theirs.own.entry(CAPACITY + 3)[2].store(9, Ordering::Relaxed);
        assert_eq!(theirs.peer.word(CONSUMED_AT).load(Ordering::Relaxed), 7);
        assert_eq!(ours.peer.entry(3)[2].load(Ordering::Relaxed), 9);
        ours.own.payload(64, 100).unwrap().fill(5);
        assert!(theirs.peer.payload(64, 100).unwrap().matches(5));
    }

    #[test]
    fn payload_outside_of_the_memory_is_refused() {
        let rings = SharedRings::create(4096).unwrap();
        assert!(rings.own.payload(4032, 64).is_ok());
        for (offset, size) in [(0, 4097), (4032, 65), (usize::MAX - 63, 64), (8, 8)] {
            let refused = FloorError::TooLarge { size, limit: 4096 };
            assert_eq!(rings.own.payload(offset, size).err(), Some(refused));
        }
    }

    #[test]
    fn other_descriptors_are_refused() {
        for size in [0, 4096, RING_END as u64, 2 * RING_END as u64 + 4096] {
            let fd = memory("other", size.max(1)).unwrap();
            fs::ftruncate(&fd, size).unwrap();
            assert_eq!(SharedRings::open(fd).unwrap_err(), FloorError::NotFloorMemory(size));
        }
        let null = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        assert!(matches!(SharedRings::open(null), Err(FloorError::NotFloorMemory(_))));
    }
}
