//! Shared memory as 64-bit words: ours, which we may store to, and the peer's, which we may only load from.
//!
//! Foreign words are loaded with `Relaxed` only, ordered by an acquire fence afterwards: on read-only pages Rust guarantees nothing else.

use std::sync::Arc;

use crate::layout::{ENTRY_WORDS, FIRST_LINE_WORDS};
use crate::sync::{AtomicU64, Ordering};

/// What keeps the words' memory alive.
#[cfg(not(loom))]
type Backing = crate::segment::Mapping;
/// The model's memory.
#[cfg(loom)]
type Backing = Vec<AtomicU64>;

/// A run of words that lives as long as its backing.
#[derive(Clone)]
struct Words {
    first: *const AtomicU64,
    count: usize,
    _backing: Arc<Backing>,
}

// SAFETY: the memory behind `first` is alive as long as `_backing`, which is shared by reference count, and is only reached through atomics.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    #[cfg(not(loom))]
    fn new(backing: Arc<Backing>) -> Self {
        let (first, count) = (backing.address().cast(), backing.len() / 8);
        Self { first, count, _backing: backing }
    }

    #[cfg(loom)]
    fn new(backing: Arc<Backing>) -> Self {
        Self { first: backing.as_ptr(), count: backing.len(), _backing: backing }
    }

    #[inline(always)]
    fn word(&self, byte_offset: usize) -> &AtomicU64 {
        let index = byte_offset / 8;
        assert!(index < self.count, "word outside its segment");
        // SAFETY: the index is inside the run, which is mapped, 8-aligned (page-aligned base) and outlived by `_backing`. The other
        // process may write it meanwhile only as an aligned word, which an atomic permits.
        unsafe { &*self.first.add(index) }
    }

    #[inline(always)]
    fn entry(&self, byte_offset: usize) -> &[AtomicU64; ENTRY_WORDS] {
        let index = byte_offset / 8;
        assert!(index + ENTRY_WORDS <= self.count, "entry outside its segment");
        // SAFETY: as for `word`, for sixteen words, all inside the run.
        unsafe { &*self.first.add(index).cast() }
    }
}

/// Words of a segment that this process owns and alone writes.
#[derive(Clone)]
pub(crate) struct OwnWords(Words);

impl OwnWords {
    pub(crate) fn new(backing: Arc<Backing>) -> Self {
        Self(Words::new(backing))
    }

    /// The word at a byte offset.
    #[inline(always)]
    pub(crate) fn word(&self, byte_offset: usize) -> &AtomicU64 {
        self.0.word(byte_offset)
    }

    /// The sixteen words of the entry at a byte offset.
    #[inline(always)]
    pub(crate) fn entry(&self, byte_offset: usize) -> &[AtomicU64; ENTRY_WORDS] {
        self.0.entry(byte_offset)
    }
}

/// Words of a segment that the peer owns: whatever it wrote, at whatever moment, mapped read-only.
#[derive(Clone)]
pub(crate) struct ForeignWords(Words);

impl ForeignWords {
    pub(crate) fn new(backing: Arc<Backing>) -> Self {
        Self(Words::new(backing))
    }

    /// Relaxed load of the word at a byte offset.
    #[inline(always)]
    pub(crate) fn load(&self, byte_offset: usize) -> u64 {
        self.0.word(byte_offset).load(Ordering::Relaxed)
    }

    /// The entry at a byte offset.
    #[inline(always)]
    pub(crate) fn entry(&self, byte_offset: usize) -> ForeignEntry<'_> {
        ForeignEntry(self.0.entry(byte_offset))
    }
}

/// An entry in the peer's ring: loads only.
#[derive(Clone, Copy)]
pub(crate) struct ForeignEntry<'a>(&'a [AtomicU64; ENTRY_WORDS]);

impl ForeignEntry<'_> {
    /// Copies all of the first line but the sequence.
    #[inline(always)]
    pub(crate) fn copy_first_line(self, to: &mut [u64; ENTRY_WORDS]) {
        self.copy::<1, FIRST_LINE_WORDS>(to);
    }

    /// Copies the second line.
    #[inline(always)]
    pub(crate) fn copy_second_line(self, to: &mut [u64; ENTRY_WORDS]) {
        self.copy::<FIRST_LINE_WORDS, ENTRY_WORDS>(to);
    }

    /// Copies a range of words, each by one relaxed load.
    #[cfg(any(loom, not(target_arch = "x86_64")))]
    #[inline(always)]
    fn copy<const FROM: usize, const TO: usize>(self, to: &mut [u64; ENTRY_WORDS]) {
        for word in FROM..TO {
            to[word] = self.0[word].load(Ordering::Relaxed);
        }
    }

    /// Copies a range of words. Pairs are copied at once, from odd words on, as the body begins at one: whoever then reads the private copy in pairs, as vector
    /// code does, finds each in one store, which the processor can forward (else it waits for the stores to reach the cache: measured 10 ns in a round trip).
    #[cfg(all(not(loom), target_arch = "x86_64"))]
    #[inline(always)]
    fn copy<const FROM: usize, const TO: usize>(self, to: &mut [u64; ENTRY_WORDS]) {
        let mut word = FROM;
        if word.is_multiple_of(2) {
            to[word] = self.0[word].load(Ordering::Relaxed);
            word += 1;
        }
        while word + 1 < TO {
            let from = self.0[word].as_ptr();
            let pair = to[word..word + 2].as_mut_ptr();
            // SAFETY: copies two words, both inside the mapped entry and inside `to`. Assembly may read what another process writes; each aligned word of the
            // pair is as it was at some moment, which is all that a consumer relies on.
            unsafe {
                core::arch::asm!(
                    "movups {pair}, [{from}]",
                    "movups [{to}], {pair}",
                    from = in(reg) from,
                    to = in(reg) pair,
                    pair = out(xmm_reg) _,
                    options(nostack, preserves_flags),
                );
            }
            word += 2;
        }
        if word < TO {
            to[word] = self.0[word].load(Ordering::Relaxed);
        }
    }
}
