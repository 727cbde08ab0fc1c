//! One control record, in private memory: published by a producer, or copied by a consumer out of
//! the peer's ring.

use super::layout::{BODY_WORD, ENTRY_WORDS, INLINE_MAX};

/// All fields of an entry but its body, as numbers. The caller defines their meaning, except for
/// the kinds and the flag in [`layout`](super::layout).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Number of the kind.
    pub kind: u8,
    /// Bits of the flags; the producer adds [`LENT`](super::layout::LENT).
    pub flags: u8,
    /// Stream number; 0 is the session itself.
    pub stream: u32,
    /// Method, error code, or the number of a segment.
    pub tag: u32,
    /// Time that the sender of a request waits, encoded as in `docs/abi.md` (section 4.4), or 0.
    pub time: u16,
}

impl Head {
    /// Returns the head of an entry that concerns the session, not a stream.
    pub const fn of_session(kind: u8, tag: u32) -> Self {
        Self { kind, flags: 0, stream: 0, tag, time: 0 }
    }

    /// Returns words 1 and 2 of the entry.
    #[inline(always)]
    pub(crate) fn to_words(self, len: usize, released: u16) -> [u64; 2] {
        let first = u64::from(self.kind)
            | u64::from(self.flags) << 8
            | (len as u64) << 16
            | u64::from(self.stream) << 32;
        let time = u64::from(self.time) << 48;
        [first, u64::from(self.tag) | u64::from(released) << 32 | time]
    }
}

/// An entry copied out of the peer's ring. Private memory: it no longer changes. Only the inline
/// length has been validated.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Entry {
    pub(crate) words: [u64; ENTRY_WORDS],
}

impl Default for Entry {
    fn default() -> Self {
        Self { words: [0; ENTRY_WORDS] }
    }
}

impl Entry {
    /// Creates an entry with this head and inline body (at most 104 bytes), as its producer would
    /// publish it: for tests and tools.
    pub fn new(head: Head, body: &[u8]) -> Self {
        let mut entry = Self::default();
        [entry.words[1], entry.words[2]] = head.to_words(body.len(), 0);
        for (word, chunk) in entry.words[BODY_WORD..].iter_mut().zip(body.chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_le_bytes(bytes);
        }
        entry
    }

    /// Reads an entry from its bytes in a ring, for tools.
    #[cfg(not(loom))]
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        let mut entry = Self::default();
        for (word, bytes) in entry.words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        }
        entry
    }

    /// Returns the number of the kind, as the peer wrote it.
    #[inline]
    pub fn kind_number(&self) -> u8 {
        self.words[1] as u8
    }

    /// Returns the flag bits, as the peer wrote them.
    #[inline]
    pub fn flag_bits(&self) -> u8 {
        (self.words[1] >> 8) as u8
    }

    /// Returns the length of the inline body; at most 104.
    #[inline]
    pub fn inline_len(&self) -> usize {
        (self.words[1] >> 16) as u16 as usize
    }

    /// Makes the inline body empty.
    #[inline]
    pub(crate) fn clear_body(&mut self) {
        self.words[1] &= !(0xffff << 16);
    }

    /// Returns the stream number.
    #[inline]
    pub fn stream(&self) -> u32 {
        (self.words[1] >> 32) as u32
    }

    /// Returns the tag.
    #[inline]
    pub fn tag(&self) -> u32 {
        self.words[2] as u32
    }

    /// Returns the time that the sender waits, in its encoded form.
    #[inline]
    pub fn time(&self) -> u16 {
        (self.words[2] >> 48) as u16
    }

    /// Returns the lend number that the entry releases, if any.
    #[inline]
    pub(crate) fn released(&self) -> Option<u16> {
        ((self.words[2] >> 32) as u16).checked_sub(1)
    }

    /// Returns a word of the body.
    #[inline]
    pub(crate) fn body_word(&self, index: usize) -> u64 {
        self.words[BODY_WORD + index]
    }

    /// Returns the inline body and the bytes behind its end, which have no meaning.
    #[inline]
    pub fn inline_room(&self) -> [u8; INLINE_MAX] {
        let mut bytes = [0; INLINE_MAX];
        for (to, word) in bytes.chunks_exact_mut(8).zip(&self.words[BODY_WORD..]) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Returns the inline body.
    #[inline]
    pub fn inline(&self) -> &[u8] {
        let len = self.inline_len().min(INLINE_MAX);
        // SAFETY: the thirteen body words are 104 initialised private bytes, and `len` is at most
        // that.
        unsafe { core::slice::from_raw_parts(self.words[BODY_WORD..].as_ptr().cast(), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_words_read_back_as_written() {
        let head = Head { kind: 1, flags: 0x0a, stream: 0xdead_beef, tag: 0x1234_5678, time: 0 };
        let mut entry = Entry::default();
        [entry.words[1], entry.words[2]] = head.to_words(104, 7);
        assert_eq!(entry.kind_number(), 1);
        assert_eq!(entry.flag_bits(), head.flags);
        assert_eq!(entry.inline_len(), 104);
        assert_eq!((entry.stream(), entry.tag()), (head.stream, head.tag));
        assert_eq!(entry.released(), Some(6));
    }
}
