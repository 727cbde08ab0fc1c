//! Limits of a decoded message.

use crate::{DecodeError, Fault};

/// Limits for reading a message. Counts and lengths need no limit: they are always checked against
/// the remaining bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum nesting of structs, lists, sets and maps, the outermost included. Each level takes
    /// stack of the reading thread.
    pub depth: u32,
    /// Maximum size of a message in bytes.
    pub size: usize,
    /// Maximum memory of an owned value in bytes, besides its outermost place: strings, lists, maps
    /// and boxes, with the allocator's overhead for each. Views take none.
    pub memory: usize,
}

impl Default for Limits {
    /// Returns a depth of 64 as in other implementations, messages of 64 MiB, and 256 MiB of
    /// memory.
    #[inline]
    fn default() -> Self {
        Self { depth: 64, size: 64 << 20, memory: 256 << 20 }
    }
}

impl Limits {
    /// Fails if a message of `size` bytes is too long.
    #[inline]
    pub(crate) fn check(&self, size: usize) -> Result<(), DecodeError> {
        if size > self.size {
            return Err(Fault::Size { size, limit: self.size }.at(0));
        }
        Ok(())
    }
}

/// Returns the number of bytes that a message of `len` bytes may have allocated for announced
/// counts, all lists together.
pub(crate) fn credit(len: usize) -> usize {
    len.saturating_mul(8)
}
