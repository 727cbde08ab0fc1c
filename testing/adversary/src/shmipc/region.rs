//! Shared regions, which are read and written through their descriptors: those of a peer may be
//! truncated at any moment, and then a mapping would fault.

use std::os::fd::OwnedFd;

use rustix::fs::fstat;
use rustix::io::{pread, pwrite};

/// Writes the 32-bit word at an offset.
pub fn set(fd: &OwnedFd, at: u64, value: u32) {
    assert_eq!(pwrite(fd, &value.to_le_bytes(), at), Ok(4));
}

/// Reads the 32-bit word at an offset.
pub fn get(fd: &OwnedFd, at: u64) -> u32 {
    let mut bytes = [0; 4];
    assert_eq!(pread(fd, &mut bytes, at), Ok(4));
    u32::from_le_bytes(bytes)
}

/// Returns the size of the region.
pub fn size(fd: &OwnedFd) -> u64 {
    fstat(fd).expect("fstat").st_size as u64
}

/// All its bytes.
pub fn contents(fd: &OwnedFd) -> Vec<u8> {
    let mut bytes = vec![0; size(fd) as usize];
    assert_eq!(pread(fd, &mut bytes, 0), Ok(bytes.len()));
    bytes
}
