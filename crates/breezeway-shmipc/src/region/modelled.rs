//! Shared memory for the model checker: a few words that loom watches, at the offsets of the
//! layouts.

use std::collections::BTreeMap;

use loom::sync::atomic::{AtomicU32, Ordering};

/// Words by offset; only those that a model uses exist, because the checker keeps a history of
/// each.
pub(crate) struct Region {
    words: BTreeMap<u32, AtomicU32>,
    len: u32,
}

impl Region {
    /// Creates a region of `len` bytes with zeros at these offsets.
    pub(crate) fn with_words(len: u32, offsets: impl IntoIterator<Item = u32>) -> Self {
        Self { words: offsets.into_iter().map(|at| (at, AtomicU32::new(0))).collect(), len }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn word(&self, at: u32) -> &AtomicU32 {
        self.words.get(&at).unwrap_or_else(|| panic!("the model has no word at {at}"))
    }

    /// Returns a byte. Only flags are accessed as bytes, and their words have no other use.
    pub(crate) fn byte(&self, at: u32) -> Byte<'_> {
        Byte(self.word(at))
    }

    pub(crate) fn count(&self, at: u32) -> Count<'_> {
        Count(self.word(at))
    }
}

/// A byte, in a word of its own.
pub(crate) struct Byte<'a>(&'a AtomicU32);

impl Byte<'_> {
    pub(crate) fn load(&self, order: Ordering) -> u8 {
        self.0.load(order) as u8
    }

    pub(crate) fn store(&self, value: u8, order: Ordering) {
        self.0.store(value.into(), order);
    }

    pub(crate) fn fetch_or(&self, value: u8, order: Ordering) -> u8 {
        self.0.fetch_or(value.into(), order) as u8
    }
}

/// A count, of which the model uses the low half.
pub(crate) struct Count<'a>(&'a AtomicU32);

impl Count<'_> {
    pub(crate) fn observe(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed).into()
    }

    pub(crate) fn publish(&self, _old: u64, new: u64, order: Ordering) {
        self.0.store(new as u32, order);
    }
}
