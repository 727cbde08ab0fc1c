//! Messages that every byte distinguishes from each other, and from garbage.

use std::sync::OnceLock;

/// The longest message that [`message`] makes.
pub(crate) const LONGEST: usize = 2 << 20;
/// Messages start at so many different places of the table; a prime, so that neighbours share no
/// alignment.
const STARTS: u64 = 65_521;

fn table() -> &'static [u8] {
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    TABLE.get_or_init(|| noise(&mut Random::new(1), (STARTS as usize + LONGEST) / 8 + 1))
}

/// Returns `words` random words, as bytes. Many processes use it, so it works by words also in a
/// build without optimisation.
pub(crate) fn noise(random: &mut Random, words: usize) -> Vec<u8> {
    let mut bytes = vec![0; 8 * words];
    for word in bytes.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next().to_le_bytes());
    }
    bytes
}

/// The content of message `number`, `len` bytes of it: the same in every process, and another one
/// for the next number.
pub(crate) fn message(number: u64, len: usize) -> &'static [u8] {
    let start = (number.wrapping_mul(31) % STARTS) as usize;
    &table()[start..][..len]
}

/// Returns true if `bytes` are message `number`.
pub(crate) fn is_message(number: u64, bytes: &[u8]) -> bool {
    bytes == message(number, bytes.len())
}

/// Numbers that look random and are the same in every run (xorshift64*, Vigna 2016).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }

    /// A length up to `most`: each order of magnitude is about as frequent as the next.
    pub(crate) fn len(&mut self, most: usize) -> usize {
        let bits = u64::from(usize::BITS - most.leading_zeros());
        let magnitude = 1u64 << self.below(bits + 1);
        self.below(magnitude.min(most as u64) + 1) as usize
    }
}
