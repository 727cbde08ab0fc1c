//! Memfds of every fitness.

use std::os::fd::OwnedFd;

use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
};

use crate::memory::Mapping;

/// The seals that section 3 of the ABI asks for.
pub const SEALS: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::FUTURE_WRITE).union(SealFlags::SEAL);

/// One with all its pages, without seals.
pub fn backed(size: usize) -> OwnedFd {
    let fd = sparse(size);
    fallocate(&fd, FallocateFlags::empty(), 0, size as u64).expect("fallocate");
    drop(Mapping::writable(&fd, size));
    fd
}

/// One without a page of memory, and without seals.
pub fn sparse(size: usize) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = memfd_create(c"hostile", flags).expect("memfd_create");
    ftruncate(&fd, size as u64).expect("ftruncate");
    fd
}

/// Returns a memfd that takes no further seals, as shmipc's clients make them.
pub fn unsealable(size: u64) -> OwnedFd {
    let fd = memfd_create(c"hostile", MemfdFlags::CLOEXEC).expect("memfd_create");
    ftruncate(&fd, size).expect("ftruncate");
    fd
}

/// Returns a sealed memfd of huge pages. No huge page needs to be reserved, because none is
/// touched.
///
/// # Panics
///
/// If the kernel was built without huge pages.
pub fn huge(size: usize) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
    let fd = memfd_create(c"hostile", flags).expect("memfd_create with MFD_HUGETLB");
    ftruncate(&fd, size.next_multiple_of(2 << 20) as u64).expect("ftruncate");
    seal(&fd, SEALS);
    fd
}

/// A sealed one with holes where a receiver checks, and as many pages beyond its end, which
/// `st_blocks` counts as well.
pub fn hole_behind_blocks(size: usize) -> OwnedFd {
    let fd = sparse(size);
    let beyond = (size as u64).next_multiple_of(1 << 20);
    fallocate(&fd, FallocateFlags::KEEP_SIZE, beyond, size as u64).expect("fallocate");
    seal(&fd, SEALS);
    fd
}

/// Adds seals.
pub fn seal(fd: &OwnedFd, seals: SealFlags) {
    fcntl_add_seals(fd, seals).expect("F_ADD_SEALS");
}
