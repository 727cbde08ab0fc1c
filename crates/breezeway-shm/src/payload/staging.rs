//! Where an inline body is put together before it is published: private, and used again for each.

use crate::ring::layout::INLINE_MAX;

/// One inline body. It keeps the bytes of earlier ones until they are overwritten; what lies behind
/// its length is not published.
#[repr(C, align(64))]
pub(crate) struct Staging([u8; INLINE_MAX]);

impl Staging {
    pub(crate) const fn new() -> Self {
        Self([0; INLINE_MAX])
    }

    /// The first `len` bytes.
    #[inline(always)]
    pub(crate) fn bytes(&self, len: usize) -> &[u8] {
        &self.0[..len]
    }

    /// The first `len` bytes, to be filled.
    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        &mut self.0[..len]
    }
}
