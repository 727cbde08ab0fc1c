//! The payload: a pattern that is cheap to write and to compare, and differs in every word and round.
//!
//! Word `i` is `seed + i × STEP`, little-endian; the last word may be cut short. It is the pattern of
//! Breezeway's own floor measurements, so that every system touches its payload with the same work.

use std::mem::MaybeUninit;

/// Added from word to word: odd, so that no word repeats within 2^64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The seed of round `round`.
#[must_use]
pub fn seed(round: u64) -> u64 {
    round.wrapping_mul(0xD1B5_4A32_D192_ED03)
}

/// The first `N` words of the pattern of `seed`.
#[must_use]
pub fn words<const N: usize>(seed: u64) -> [u64; N] {
    std::array::from_fn(|index| word(seed, index))
}

/// Writes the pattern of `seed` into every byte of `buffer`.
pub fn fill(buffer: &mut [u8], seed: u64) {
    write(buffer, seed, |byte| byte);
}

/// Like [`fill`]; afterwards every byte of `buffer` is initialised.
pub fn initialize(buffer: &mut [MaybeUninit<u8>], seed: u64) {
    write(buffer, seed, MaybeUninit::new);
}

/// Assigns every element of `buffer`, each from one byte of the pattern.
fn write<B: Copy>(buffer: &mut [B], seed: u64, from: impl Fn(u8) -> B) {
    let (words, rest) = buffer.as_chunks_mut::<8>();
    let end = word(seed, words.len()).to_le_bytes().map(&from);
    for (index, bytes) in words.iter_mut().enumerate() {
        *bytes = word(seed, index).to_le_bytes().map(&from);
    }
    rest.copy_from_slice(&end[..rest.len()]);
}

/// Whether every byte of `buffer` is that of the pattern of `seed`.
#[must_use]
pub fn matches(buffer: &[u8], seed: u64) -> bool {
    let (words, rest) = buffer.as_chunks::<8>();
    let end = word(seed, words.len()).to_le_bytes();
    // Collects differences instead of leaving early: without a branch the loop is vectorised.
    let differences = words.iter().enumerate().fold(0, |differences, (index, bytes)| {
        differences | (u64::from_le_bytes(*bytes) ^ word(seed, index))
    });
    differences == 0 && *rest == end[..rest.len()]
}

fn word(seed: u64, index: usize) -> u64 {
    seed.wrapping_add((index as u64).wrapping_mul(STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_single_changed_byte_is_noticed() {
        for size in [1, 7, 8, 9, 64, 100] {
            let mut buffer = vec![0; size];
            fill(&mut buffer, seed(3));
            assert!(matches(&buffer, seed(3)));
            for place in 0..size {
                buffer[place] ^= 1;
                assert!(!matches(&buffer, seed(3)), "byte {place} of {size}");
                buffer[place] ^= 1;
            }
        }
    }

    #[test]
    fn words_and_bytes_are_the_same_pattern() {
        let mut filled = [0; 52];
        fill(&mut filled, seed(5));
        let bytes = words::<7>(seed(5)).map(u64::to_le_bytes).concat();
        assert_eq!(filled, bytes[..52]);
    }

    #[test]
    fn rounds_differ_in_every_word() {
        let [first, second] = [words::<8>(seed(1)), words::<8>(seed(2))];
        assert!(first.iter().zip(second).all(|(&a, b)| a != b));
    }
}
