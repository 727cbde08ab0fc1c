//! The memory that a dump reads.

use std::cell::RefCell;
use std::io;

use breezeway_os::SharedMemory;

/// Memory to read from. Unreadable parts are zero, and the error is kept.
pub(super) struct Source<'a> {
    pub(super) memory: &'a SharedMemory,
    pub(super) failed: RefCell<Option<io::Error>>,
}

impl Source<'_> {
    /// Returns the size, at most that of the largest possible region.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.memory.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn bytes<const N: usize>(&self, at: u32) -> [u8; N] {
        let mut bytes = [0; N];
        if let Err(error) = self.memory.read_at(at.into(), &mut bytes) {
            self.failed.borrow_mut().get_or_insert(error);
            bytes = [0; N];
        }
        bytes
    }

    pub(super) fn word(&self, at: u32) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }
}
