//! How much a message may ask for.

use crate::{DecodeError, Fault};

/// Limits for reading a message. Counts and lengths need none: they are always checked against the
/// bytes that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep structs, lists, sets and maps may be nested, the outermost included. Each level
    /// takes stack of the thread that reads.
    pub depth: u32,
    /// The longest message, in bytes.
    pub size: usize,
    /// How much memory owned values may take besides their outermost place, in bytes: strings,
    /// lists, maps and boxes, with what allocators need for each. Views take none.
    pub memory: usize,
}

impl Default for Limits {
    /// A depth of 64 as in other implementations, messages of 64 MiB, and 256 MiB of memory.
    #[inline]
    fn default() -> Self {
        Self { depth: 64, size: 64 << 20, memory: 256 << 20 }
    }
}

impl Limits {
    /// An error if a message of `size` bytes is too long.
    #[inline]
    pub(crate) fn check(&self, size: usize) -> Result<(), DecodeError> {
        if size > self.size {
            return Err(Fault::Size { size, limit: self.size }.at(0));
        }
        Ok(())
    }
}

/// For how many bytes a message of `len` bytes may have memory taken on its counts' word, all lists
/// together.
pub(crate) fn credit(len: usize) -> usize {
    len.saturating_mul(8)
}
