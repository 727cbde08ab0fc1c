//! One control record, in private memory: what a producer publishes and what a consumer has copied
//! out of the peer's ring.

use super::layout::{BODY_WORD, ENTRY_WORDS, INLINE_MAX};

/// What an entry says. Numbers are fixed by `docs/abi.md`, section 4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message, inline or lent.
    Message = 1,
    /// The stream is over, both ways.
    Reset = 2,
    /// The sender no longer wants the reply.
    Cancel = 3,
    /// Messages and bytes given back to a stream's sender.
    Window = 4,
    /// How long the sender still waits.
    Deadline = 5,
    /// A payload segment was added.
    SegmentAdd = 6,
    /// A payload segment was dropped.
    SegmentRetire = 7,
    /// No stream above the named one will be served.
    GoAway = 8,
    /// The sender commits nothing more and closes.
    Shutdown = 9,
}

impl Kind {
    /// The kind with this number, if there is one.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Message,
            2 => Self::Reset,
            3 => Self::Cancel,
            4 => Self::Window,
            5 => Self::Deadline,
            6 => Self::SegmentAdd,
            7 => Self::SegmentRetire,
            8 => Self::GoAway,
            9 => Self::Shutdown,
            _ => return None,
        })
    }
}

/// Flags of a message (`docs/abi.md`, section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// First message of its stream.
    pub const OPEN: Self = Self(0x01);
    /// Last message of this side on its stream.
    pub const FIN: Self = Self(0x02);
    /// The body is a descriptor of lent payload.
    pub const LENT: Self = Self(0x04);
    /// A reply that says why the call failed.
    pub const ERROR: Self = Self(0x08);
    /// One-way: no reply will come.
    pub const NO_REPLY: Self = Self(0x10);
    /// A metadata block comes before the message.
    pub const METADATA: Self = Self(0x20);
    /// There is no message, which is not the same as one of 0 bytes.
    pub const EMPTY: Self = Self(0x40);
    /// With OPEN: a stream, not a call.
    pub const STREAM: Self = Self(0x80);

    /// The flags with these bits: all are defined.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The flags as bits.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// These flags and `other`.
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These flags less `other`.
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether every flag of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Everything of an entry but its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What the entry says.
    pub kind: Kind,
    /// Flags of a message, else none.
    pub flags: Flags,
    /// Stream number; 0 is the session itself.
    pub stream: u32,
    /// Method, error code, or what the kind says.
    pub tag: u32,
    /// How long the sender of a request will wait, as `docs/abi.md` codes it (section 4.4); 0 if it
    /// does not say.
    pub time: u16,
}

impl Head {
    /// The head of an entry that concerns the session, not a stream.
    pub const fn of_session(kind: Kind, tag: u32) -> Self {
        Self { kind, flags: Flags::NONE, stream: 0, tag, time: 0 }
    }

    /// Words 1 and 2 of the entry.
    #[inline(always)]
    pub(crate) fn to_words(self, len: usize, released: u16) -> [u64; 2] {
        let first = u64::from(self.kind as u8)
            | u64::from(self.flags.bits()) << 8
            | (len as u64) << 16
            | u64::from(self.stream) << 32;
        let time = u64::from(self.time) << 48;
        [first, u64::from(self.tag) | u64::from(released) << 32 | time]
    }
}

/// An entry copied out of the peer's ring. Private memory: it no longer changes. Nothing in it has
/// been judged but the inline length.
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
    /// An entry with this head and inline body (at most 104 bytes), as its producer would publish
    /// it: for tests and tools.
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

    /// An entry as it lies in a ring, for tools.
    #[cfg(not(loom))]
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        let mut entry = Self::default();
        for (word, bytes) in entry.words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        }
        entry
    }

    /// The number of the kind, as the peer wrote it.
    #[inline]
    pub fn kind_number(&self) -> u8 {
        self.words[1] as u8
    }

    /// The flag bits, as the peer wrote them.
    #[inline]
    pub fn flag_bits(&self) -> u8 {
        (self.words[1] >> 8) as u8
    }

    /// Length of the inline body; at most 104.
    #[inline]
    pub fn inline_len(&self) -> usize {
        (self.words[1] >> 16) as u16 as usize
    }

    /// Makes the inline body empty.
    #[inline]
    pub(crate) fn clear_body(&mut self) {
        self.words[1] &= !(0xffff << 16);
    }

    /// The stream number.
    #[inline]
    pub fn stream(&self) -> u32 {
        (self.words[1] >> 32) as u32
    }

    /// The tag.
    #[inline]
    pub fn tag(&self) -> u32 {
        self.words[2] as u32
    }

    /// How long the sender will wait, as it is coded.
    #[inline]
    pub fn time(&self) -> u16 {
        (self.words[2] >> 48) as u16
    }

    /// The lend number that the peer says it has released, if any.
    #[inline]
    pub(crate) fn released(&self) -> Option<u16> {
        ((self.words[2] >> 32) as u16).checked_sub(1)
    }

    /// A word of the body.
    #[inline]
    pub(crate) fn body_word(&self, index: usize) -> u64 {
        self.words[BODY_WORD + index]
    }

    /// The inline body and whatever lies behind its end.
    #[inline]
    pub(crate) fn inline_room(&self) -> [u8; INLINE_MAX] {
        let mut bytes = [0; INLINE_MAX];
        for (to, word) in bytes.chunks_exact_mut(8).zip(&self.words[BODY_WORD..]) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The inline body.
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
    fn every_kind_survives_its_number() {
        for number in 0..=u8::MAX {
            assert_eq!(Kind::from_number(number).map_or(number, |kind| kind as u8), number);
        }
        assert_eq!(Kind::from_number(0), None);
        assert_eq!(Kind::from_number(10), None);
    }

    #[test]
    fn head_words_read_back_as_written() {
        let head = Head {
            kind: Kind::Message,
            flags: Flags::FIN.with(Flags::ERROR),
            stream: 0xdead_beef,
            tag: 0x1234_5678,
            time: 0,
        };
        let mut entry = Entry::default();
        [entry.words[1], entry.words[2]] = head.to_words(104, 7);
        assert_eq!(entry.kind_number(), 1);
        assert_eq!(entry.flag_bits(), head.flags.bits());
        assert_eq!(entry.inline_len(), 104);
        assert_eq!((entry.stream(), entry.tag()), (head.stream, head.tag));
        assert_eq!(entry.released(), Some(6));
    }
}
