//! Shared memory as 64-bit words: ours, which this process may store to, and the peer's, which it
//! may only load from.
//!
//! Foreign words are loaded with `Relaxed` only, ordered by an acquire fence afterwards: on
//! read-only pages Rust guarantees nothing else.

use std::sync::Arc;

use super::layout::{ENTRY_SIZE, ENTRY_WORDS, FIRST_LINE_WORDS};
use super::sync::{AtomicU64, Ordering};

/// Owner of the words' memory, which keeps it alive.
#[cfg(not(loom))]
type Backing = breezeway_os::segment::Mapping;
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

// SAFETY: the memory behind `first` is alive as long as `_backing`, which is shared by reference
// count, and is only reached through atomics.
unsafe impl Send for Words {}
// SAFETY: `&Words` gives only references to atomics in memory that `_backing` keeps alive.
unsafe impl Sync for Words {}

impl Words {
    #[cfg(not(loom))]
    fn new(backing: Arc<Backing>) -> Self {
        let (first, count) = (backing.address().cast(), backing.size() / 8);
        Self { first, count, _backing: backing }
    }

    #[cfg(loom)]
    fn new(backing: Arc<Backing>) -> Self {
        Self { first: backing.as_ptr(), count: backing.len(), _backing: backing }
    }

    #[cfg(not(loom))]
    fn address(&self) -> u64 {
        self.first.addr() as u64
    }

    #[inline(always)]
    fn word(&self, byte_offset: usize) -> &AtomicU64 {
        let index = byte_offset / 8;
        assert!(index < self.count, "word outside its segment");
        // SAFETY: the index is inside the run, which is mapped, 8-aligned (page-aligned base) and
        // outlived by `_backing`. In this process the word is only reached through atomics. Another
        // process may write it in any width and at any alignment while we load it: it is outside of
        // this program, so its stores take part in no data race of ours, and the result of a
        // relaxed load of an aligned word is some mixture of its bytes, which is a valid `u64`. No
        // code depends on which one, since each value is validated. (Only a peer that keeps to the
        // ABI page, and so writes whole aligned words, can rely on how its values are read.)
        unsafe { &*self.first.add(index) }
    }

    #[inline(always)]
    fn entry(&self, byte_offset: usize) -> &[AtomicU64; ENTRY_WORDS] {
        let index = byte_offset / 8;
        assert!(index + ENTRY_WORDS <= self.count, "entry outside its segment");
        // SAFETY: the assertion keeps ENTRY_WORDS words inside the run, which is mapped, 8-aligned
        // and outlived by `_backing`. They are only reached through atomics, and any bytes that
        // another process writes there at the same time are valid `u64`s.
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

    /// Returns the address of the mapping, for tools.
    #[cfg(not(loom))]
    pub(crate) fn address(&self) -> u64 {
        self.0.address()
    }

    /// Returns the word at a byte offset.
    #[inline(always)]
    pub(crate) fn word(&self, byte_offset: usize) -> &AtomicU64 {
        self.0.word(byte_offset)
    }

    /// Returns the sixteen words of the entry at a byte offset.
    #[inline(always)]
    pub(crate) fn entry(&self, byte_offset: usize) -> &[AtomicU64; ENTRY_WORDS] {
        self.0.entry(byte_offset)
    }
}

/// Words of a segment that the peer owns, mapped read-only. The peer may write any value at any
/// moment.
#[derive(Clone)]
pub(crate) struct ForeignWords(Words);

impl ForeignWords {
    pub(crate) fn new(backing: Arc<Backing>) -> Self {
        Self(Words::new(backing))
    }

    /// Returns the address of the mapping, for tools.
    #[cfg(not(loom))]
    pub(crate) fn address(&self) -> u64 {
        self.0.address()
    }

    /// Loads the word at a byte offset, relaxed.
    #[inline(always)]
    pub(crate) fn load(&self, byte_offset: usize) -> u64 {
        self.0.word(byte_offset).load(Ordering::Relaxed)
    }

    /// Returns the entry at a byte offset.
    #[inline(always)]
    pub(crate) fn entry(&self, byte_offset: usize) -> ForeignEntry<'_> {
        ForeignEntry(self.0.entry(byte_offset))
    }

    /// Prefetches the lines of the entry at a byte offset. (The model ignores it.)
    #[inline(always)]
    pub(crate) fn prefetch_entry(&self, byte_offset: usize) {
        let first = self.0.first.wrapping_byte_add(byte_offset);
        if cfg!(not(loom)) {
            breezeway_os::copy::prepare_to_read(first.cast(), ENTRY_SIZE);
        }
    }
}

/// An entry in the peer's ring: loads only.
#[derive(Clone, Copy)]
pub(crate) struct ForeignEntry<'a>(&'a [AtomicU64; ENTRY_WORDS]);

impl ForeignEntry<'_> {
    /// Copies all words of the first line but the sequence.
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
    #[inline(always)]
    fn copy<const FROM: usize, const TO: usize>(self, to: &mut [u64; ENTRY_WORDS]) {
        for (to, from) in to[FROM..TO].iter_mut().zip(&self.0[FROM..TO]) {
            *to = from.load(Ordering::Relaxed);
        }
    }
}
