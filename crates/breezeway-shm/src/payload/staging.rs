//! Staging buffer in which an inline body is assembled before it is published: private, and reused.

use crate::ring::layout::INLINE_MAX;

/// Buffer of one inline body. It keeps the bytes of earlier ones until they are overwritten; bytes
/// behind the body's length are not published.
#[repr(C, align(64))]
pub(crate) struct Staging([u8; INLINE_MAX]);

impl Staging {
    pub(crate) const fn new() -> Self {
        Self([0; INLINE_MAX])
    }

    /// Returns the first `len` bytes.
    #[inline(always)]
    pub(crate) fn bytes(&self, len: usize) -> &[u8] {
        &self.0[..len]
    }

    /// Returns the first `len` bytes for filling.
    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        &mut self.0[..len]
    }
}
