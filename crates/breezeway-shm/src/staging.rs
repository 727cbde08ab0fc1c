//! Where an inline body is put together before it is published: private, and used again for each.

use crate::entry::Entry;
use crate::layout::{BODY_WORD, ENTRY_WORDS, FIRST_LINE_WORDS, INLINE_FIRST_LINE, INLINE_MAX};

/// Words of an inline body.
pub(crate) const WORDS: usize = ENTRY_WORDS - BODY_WORD;
/// Words of it that lie in the entry's first line.
pub(crate) const FIRST_WORDS: usize = FIRST_LINE_WORDS - BODY_WORD;

/// One inline body, zero behind its length to the end of the line.
#[repr(C, align(64))]
pub(crate) struct Staging {
    words: [u64; WORDS],
    len: usize,
}

impl Staging {
    pub(crate) const fn new() -> Self {
        Self { words: [0; WORDS], len: 0 }
    }

    /// A body of `len` zeros, to be filled.
    #[inline(always)]
    pub(crate) fn begin(&mut self, len: usize) {
        assert!(len <= INLINE_MAX);
        self.len = len;
        if len <= INLINE_FIRST_LINE {
            self.words[..FIRST_WORDS].fill(0);
        } else {
            self.words.fill(0);
        }
    }

    /// A body with these bytes.
    #[inline(always)]
    pub(crate) fn copy_from(&mut self, bytes: &[u8]) {
        self.begin(bytes.len());
        let (whole, rest) = bytes.as_chunks::<8>();
        for (word, chunk) in self.words.iter_mut().zip(whole) {
            *word = u64::from_le_bytes(*chunk);
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.words[whole.len()] = u64::from_le_bytes(last);
        }
    }

    /// Takes over an entry's inline body, less what lies behind its length: the peer may have written anything there.
    #[inline(always)]
    pub(crate) fn copy_inline(&mut self, entry: &Entry) {
        self.copy_from(entry.inline());
    }

    /// The body's length in bytes.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The body as words.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u64; WORDS] {
        &self.words
    }

    /// The body's bytes, to be filled.
    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the words are 104 initialised bytes, of which `begin` has checked that `len` is no more; any byte is valid in a word, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Flags, Head, Kind};

    #[test]
    fn a_body_is_taken_over_whole_and_zero_behind_its_length() {
        let body: Vec<u8> = (1..=INLINE_MAX as u8).collect();
        let mut staging = Staging::new();
        for len in [104, 41, 40, 9, 8, 7, 1, 0] {
            let head = Head { kind: Kind::Message, flags: Flags::FIN, stream: 1, tag: 0 };
            staging.copy_inline(&Entry::new(head, &body[..len]));
            assert_eq!(staging.bytes_mut(), &body[..len]);
            let words = if len <= INLINE_FIRST_LINE { FIRST_WORDS } else { WORDS };
            let bytes: Vec<u8> =
                staging.words()[..words].iter().flat_map(|word| word.to_le_bytes()).collect();
            assert!(bytes[len..].iter().all(|&byte| byte == 0), "{len}");
        }
    }

    #[test]
    #[should_panic]
    fn more_than_an_inline_body_is_refused() {
        Staging::new().begin(INLINE_MAX + 1);
    }
}
