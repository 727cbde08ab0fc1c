//! Memory that a hostile peer shares: memfds of every fitness, and writable mappings that it keeps, through which it rewrites any byte at any moment.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fstat, ftruncate,
    memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The seals that section 3 of the ABI asks for.
pub(crate) const SEALS: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::FUTURE_WRITE).union(SealFlags::SEAL);

/// A mapped memfd.
pub(crate) struct Mapping {
    address: *mut u8,
    len: usize,
}

// SAFETY: a mapping is an address range, and all accesses through it are atomic.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(fd: impl AsFd, len: usize, protection: ProtFlags) -> Self {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice aliases no Rust object.
        let address = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) };
        Self { address: address.expect("mmap").cast(), len }
    }

    /// Maps what the honest side sent, whatever its size.
    pub(crate) fn foreign(fd: &OwnedFd) -> Self {
        let len = fstat(fd).expect("fstat").st_size as usize;
        Self::new(fd, len, ProtFlags::READ)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.len, "word at {offset:#x}");
        // SAFETY: inside the mapping, which lives as long as `self`, and aligned; whoever else writes it does so atomically.
        unsafe { AtomicU64::from_ptr(self.address.add(offset).cast()) }
    }

    fn byte(&self, offset: usize) -> &AtomicU8 {
        assert!(offset < self.len, "byte at {offset:#x}");
        // SAFETY: as in `word`.
        unsafe { AtomicU8::from_ptr(self.address.add(offset)) }
    }

    pub(crate) fn load(&self, offset: usize) -> u64 {
        self.word(offset).load(Ordering::Acquire)
    }

    pub(crate) fn store(&self, offset: usize, value: u64) {
        self.word(offset).store(value, Ordering::Release);
    }

    pub(crate) fn store_byte(&self, offset: usize, value: u8) {
        self.byte(offset).store(value, Ordering::Release);
    }

    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        for (index, &byte) in bytes.iter().enumerate() {
            self.byte(offset + index).store(byte, Ordering::Relaxed);
        }
    }

    pub(crate) fn fill(&self, range: Range<usize>, value: u8) {
        for offset in range {
            self.byte(offset).store(value, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self, range: Range<usize>) -> Vec<u8> {
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
pub(crate) struct Shared {
    pub(crate) fd: OwnedFd,
    pub(crate) map: Mapping,
}

impl Shared {
    /// One that any receiver accepts.
    pub(crate) fn fit(size: usize) -> Self {
        Self::with_seals(size, SEALS)
    }

    pub(crate) fn with_seals(size: usize, seals: SealFlags) -> Self {
        let fd = memfd(size);
        let map = Mapping::new(&fd, size, ProtFlags::READ | ProtFlags::WRITE);
        fcntl_add_seals(&fd, seals).expect("F_ADD_SEALS");
        Self { fd, map }
    }
}

/// A memfd with all its pages, without seals.
pub(crate) fn memfd(size: usize) -> OwnedFd {
    let fd = sparse(size);
    fallocate(&fd, FallocateFlags::empty(), 0, size as u64).expect("fallocate");
    drop(Mapping::new(&fd, size, ProtFlags::READ | ProtFlags::WRITE));
    fd
}

/// A memfd without a page of memory, and without seals.
pub(crate) fn sparse(size: usize) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = memfd_create(c"hostile", flags).expect("memfd_create");
    ftruncate(&fd, size as u64).expect("ftruncate");
    fd
}

/// A memfd of huge pages, sealed, if this kernel knows them. It needs none to be reserved: nobody gets as far as to touch it.
pub(crate) fn huge(size: usize) -> Option<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
    let fd = memfd_create(c"hostile", flags).ok()?;
    ftruncate(&fd, size.next_multiple_of(2 << 20) as u64).ok()?;
    seal(&fd, SEALS);
    Some(fd)
}

pub(crate) fn seal(fd: &OwnedFd, seals: SealFlags) {
    fcntl_add_seals(fd, seals).expect("F_ADD_SEALS");
}

/// A sealed memfd with holes where a receiver will look, and as many pages beyond its end, which `st_blocks` counts as well.
pub(crate) fn hole_behind_blocks(size: usize) -> OwnedFd {
    let fd = sparse(size);
    let beyond = (size as u64).next_multiple_of(1 << 20);
    fallocate(&fd, FallocateFlags::KEEP_SIZE, beyond, size as u64).expect("fallocate");
    seal(&fd, SEALS);
    fd
}
