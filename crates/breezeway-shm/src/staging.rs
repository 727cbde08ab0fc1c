//! Where an inline body is put together before it is published: private, and reused, so that reserving it costs nothing.

use crate::entry::Entry;
use crate::layout::{BODY_WORD, ENTRY_WORDS, INLINE_MAX};

const WORDS: usize = ENTRY_WORDS - BODY_WORD;

/// One inline body. It keeps the bytes of earlier ones until they are overwritten: all of them went to the same peer.
#[repr(C, align(64))]
pub(crate) struct Staging([u64; WORDS]);

impl Staging {
    pub(crate) const fn new() -> Self {
        Self([0; WORDS])
    }

    /// The first `len` bytes.
    #[inline(always)]
    pub(crate) fn bytes(&self, len: usize) -> &[u8] {
        assert!(len <= INLINE_MAX);
        // SAFETY: the words are 104 initialised bytes, and any byte is a valid `u8`.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), len) }
    }

    /// The first `len` bytes, to be filled.
    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= INLINE_MAX);
        // SAFETY: as for `bytes`; any byte is valid in a word as well, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }

    /// Takes over an entry's inline body, by words: what lies behind its length is not published.
    #[inline(always)]
    pub(crate) fn copy_inline(&mut self, entry: &Entry) {
        let words = entry.inline_len().min(INLINE_MAX).div_ceil(8);
        for (to, from) in self.0.iter_mut().zip(&entry.words[BODY_WORD..]).take(words) {
            *to = *from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Flags, Head, Kind};

    #[test]
    fn an_inline_body_is_taken_over_whole() {
        let body: Vec<u8> = (1..=INLINE_MAX as u8).collect();
        for len in [0, 1, 7, 8, 9, 40, 41, 104] {
            let head = Head { kind: Kind::Message, flags: Flags::FIN, stream: 1, tag: 0 };
            let mut staging = Staging::new();
            staging.copy_inline(&Entry::new(head, &body[..len]));
            assert_eq!(staging.bytes(len), &body[..len]);
        }
    }

    #[test]
    #[should_panic]
    fn more_than_an_inline_body_is_refused() {
        Staging::new().bytes(INLINE_MAX + 1);
    }
}
