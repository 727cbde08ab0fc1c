//! The buffer region: lists of slices of one size each.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::{pread, pwrite};

use super::region::{get, set};
use crate::memfd::unsealable;

/// Size of the region that [`region`] makes, whose layout was recorded: two lists, of 511 slices
/// of 1004 bytes and of 127 slices of 4076.
pub const SIZE: u64 = 1 << 20;
/// Offset of each list, the number of its slices, and their size in bytes.
pub const LISTS: [(u64, u32, u32); 2] = [(8, 511, 1004), (523_308, 127, 4076)];
/// Offset of the first list's first slice.
pub const FIRST_SLICE: u32 = 44;
/// Offset of the first list's second slice.
pub const SECOND_SLICE: u32 = 1068;

/// Offsets of the fields of a list, from its start.
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub mod list {
    pub const SIZE: u64 = 0;
    pub const COUNT: u64 = 4;
    pub const HEAD: u64 = 8;
    pub const TAIL: u64 = 12;
    pub const SLICE_CAPACITY: u64 = 16;
    pub const SLICES: u64 = 36;
}

/// Bytes of a slice's header.
pub const SLICE_HEADER_LEN: u32 = 20;

/// A buffer region as a well-behaved client makes it.
pub fn region() -> OwnedFd {
    region_of(SIZE, &LISTS)
}

/// Offset of each list of [`small_region`], the number of its slices, and their size in bytes.
pub const SMALL_LISTS: [(u64, u32, u32); 2] = [(8, 6, 60), (524, 3, 256)];
/// Size of [`small_region`].
pub const SMALL_SIZE: u64 = 1388;

/// One with few small slices, which is quickly made.
pub fn small_region() -> OwnedFd {
    region_of(SMALL_SIZE, &SMALL_LISTS)
}

fn region_of(size: u64, lists: &[(u64, u32, u32)]) -> OwnedFd {
    let mut bytes = Vec::new();
    let mut put = |at: u64, value: u32| {
        let at = at as usize;
        bytes.resize(bytes.len().max(at + 4), 0);
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    };
    put(0, lists.len() as u32);
    let mut end = 8;
    for &(header, count, capacity) in lists {
        let stride = SLICE_HEADER_LEN + capacity;
        for (at, value) in [
            (list::SIZE, count),
            (list::COUNT, count),
            (list::TAIL, (count - 1) * stride),
            (list::SLICE_CAPACITY, capacity),
        ] {
            put(header + at, value);
        }
        for index in 0..count {
            let slice = header + list::SLICES + u64::from(index * stride);
            put(slice, capacity);
            if index + 1 < count {
                put(slice + 12, (index + 1) * stride);
                put(slice + 16, 1);
            }
        }
        end = header + list::SLICES + u64::from(count * stride);
    }
    // Size of the lists.
    put(4, end as u32 - 8);
    let fd = unsealable(size);
    assert_eq!(pwrite(&fd, &bytes, 0), Ok(bytes.len()));
    fd
}

/// A slice's header, which may be a lie.
#[derive(Clone, Copy, Debug)]
pub struct SliceHeader {
    /// Payload bytes that fit.
    pub capacity: u32,
    /// Payload bytes that are there.
    pub size: u32,
    /// Offset of the payload bytes.
    pub start: u32,
    /// Offset of the next slice of the message, or of the free list.
    pub next: u32,
    /// 1: there is a next; 2: in use.
    pub flags: u32,
}

impl SliceHeader {
    /// Returns the header that a well-behaved sender writes into a slice of the first list.
    pub fn of(bytes: &[u8]) -> Self {
        Self { capacity: LISTS[0].2, size: bytes.len() as u32, start: 0, next: 0, flags: 2 }
    }
}

/// A buffer region, as a peer uses it.
#[derive(Debug)]
pub struct Buffers(Arc<OwnedFd>);

impl Buffers {
    /// The region of this descriptor.
    pub fn new(region: &Arc<OwnedFd>) -> Self {
        Self(Arc::clone(region))
    }

    /// Fills a slice with a header and bytes.
    pub fn fill(&self, offset: u32, header: SliceHeader, bytes: &[u8]) {
        let at = u64::from(offset);
        let SliceHeader { capacity, size, start, next, flags } = header;
        for (place, value) in (0..).zip([capacity, size, start, next, flags]) {
            set(&self.0, at + 4 * place, value);
        }
        let written = pwrite(&self.0, bytes, at + u64::from(SLICE_HEADER_LEN));
        assert_eq!(written, Ok(bytes.len()));
    }

    /// Takes the first slice of the first list off the free list.
    pub fn take_slice(&self) -> u32 {
        let header = LISTS[0].0;
        let slice = FIRST_SLICE + get(&self.0, header + list::HEAD);
        set(&self.0, header + list::SIZE, get(&self.0, header + list::SIZE) - 1);
        set(&self.0, header + list::HEAD, get(&self.0, u64::from(slice) + 12));
        slice
    }

    /// The payload of the slice at `offset`.
    pub fn payload(&self, offset: u32) -> Vec<u8> {
        let at = u64::from(offset);
        let mut bytes = vec![0; get(&self.0, at + 4) as usize];
        let read = pread(&self.0, &mut bytes, at + u64::from(SLICE_HEADER_LEN));
        assert_eq!(read, Ok(bytes.len()));
        bytes
    }
}
