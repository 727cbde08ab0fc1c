//! Memory that a hostile peer shares, and through which it rewrites any byte at any moment.

use std::ops::{Deref, Range};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use rustix::fs::{SealFlags, fstat};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::memfd::{self, SEALS};

/// A mapped memfd. Every access is atomic, and inside.
#[derive(Debug)]
pub struct Mapping {
    address: *mut u8,
    len: usize,
}

// SAFETY: a mapping is an address range, and all accesses through it are atomic.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes to be read and written.
    pub fn writable(fd: impl AsFd, len: usize) -> Self {
        Self::new(fd, len, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps a segment of the honest side read-only, whatever its size.
    pub fn foreign(fd: &OwnedFd) -> Self {
        let len = fstat(fd).expect("fstat").st_size as usize;
        Self::new(fd, len, ProtFlags::READ)
    }

    fn new(fd: impl AsFd, len: usize, protection: ProtFlags) -> Self {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice aliases no Rust object.
        let address = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) };
        Self { address: address.expect("mmap").cast(), len }
    }

    /// Returns the size in bytes.
    #[expect(clippy::len_without_is_empty, reason = "no mapping is empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.len, "word at {offset:#x}");
        // SAFETY: inside the mapping, which lives as long as `self`, and aligned; whatever else
        // accesses it, here or in the other process, does so atomically.
        unsafe { AtomicU64::from_ptr(self.address.add(offset).cast()) }
    }

    fn byte(&self, offset: usize) -> &AtomicU8 {
        assert!(offset < self.len, "byte at {offset:#x}");
        // SAFETY: as in `word`.
        unsafe { AtomicU8::from_ptr(self.address.add(offset)) }
    }

    /// Loads the aligned word at `offset` (acquire).
    pub fn load(&self, offset: usize) -> u64 {
        self.word(offset).load(Ordering::Acquire)
    }

    /// Stores the aligned word at `offset` (release).
    pub fn store(&self, offset: usize, value: u64) {
        self.word(offset).store(value, Ordering::Release);
    }

    /// Stores one byte (release).
    pub fn store_byte(&self, offset: usize, value: u8) {
        self.byte(offset).store(value, Ordering::Release);
    }

    /// Writes bytes, one by one.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        for (index, &byte) in bytes.iter().enumerate() {
            self.byte(offset + index).store(byte, Ordering::Relaxed);
        }
    }

    /// Fills a range with one value, byte by byte.
    pub fn fill(&self, range: Range<usize>, value: u8) {
        for offset in range {
            self.byte(offset).store(value, Ordering::Relaxed);
        }
    }

    /// Copies a range, byte by byte.
    pub fn read(&self, range: Range<usize>) -> Vec<u8> {
        range.map(|offset| self.byte(offset).load(Ordering::Relaxed)).collect()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; all references into it borrow `self`.
        let unmapped = unsafe { munmap(self.address.cast(), self.len) };
        debug_assert!(unmapped.is_ok());
    }
}

/// A memfd whose writable mapping its owner keeps.
#[derive(Debug)]
pub struct Shared {
    /// Descriptor to send to the peer.
    pub fd: OwnedFd,
    map: Mapping,
}

impl Shared {
    /// Returns a segment that any receiver of the native protocol accepts.
    pub fn fit(size: usize) -> Self {
        Self::with_seals(size, SEALS)
    }

    /// One with all its pages and these seals.
    pub fn with_seals(size: usize, seals: SealFlags) -> Self {
        let fd = memfd::backed(size);
        let map = Mapping::writable(&fd, size);
        memfd::seal(&fd, seals);
        Self { fd, map }
    }

    /// The descriptor once more, to be sent or kept apart from the mapping.
    pub fn another_fd(&self) -> OwnedFd {
        self.fd.try_clone().expect("a free descriptor")
    }
}

impl Deref for Shared {
    type Target = Mapping;

    fn deref(&self) -> &Mapping {
        &self.map
    }
}
