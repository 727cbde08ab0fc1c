//! A payload pattern that is cheap to write and to compare, and differs in every word and round.
//!
//! Word `i` of a payload is `seed + i × STEP`, little-endian; the last word may be cut short.
//! Compilers turn both loops into vector code, so a benchmark that touches its payload with these
//! does the same work as the `touched` [floor](crate::floor).

use std::mem::MaybeUninit;

/// Added from word to word: odd, so that no word repeats within 2^64.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The seed of round `round`.
#[must_use]
pub fn seed(round: u64) -> u64 {
    round.wrapping_mul(0xD1B5_4A32_D192_ED03)
}

/// The seed of the part of `seed`'s pattern that begins at byte `offset`, a multiple of 8.
#[must_use]
pub fn seed_at(seed: u64, offset: usize) -> u64 {
    seed.wrapping_add((offset as u64 / 8).wrapping_mul(STEP))
}

/// The first `N` words of the pattern of `seed`.
#[must_use]
pub fn words<const N: usize>(seed: u64) -> [u64; N] {
    std::array::from_fn(|index| seed_at(seed, 8 * index))
}

/// Writes the pattern of `seed` into every byte of `buffer`.
///
/// ```
/// use breezeway_measure::pattern;
///
/// let mut buffer = [0; 20];
/// pattern::fill(&mut buffer, pattern::seed(1));
/// assert!(pattern::matches(&buffer, pattern::seed(1)));
/// assert!(!pattern::matches(&buffer, pattern::seed(2)));
/// ```
pub fn fill(buffer: &mut [u8], seed: u64) {
    write(buffer, seed, |byte| byte);
}

/// Like [`fill`]; afterwards every byte of `buffer` is initialised.
pub fn initialize(buffer: &mut [MaybeUninit<u8>], seed: u64) {
    write(buffer, seed, MaybeUninit::new);
}

/// Assigns every element of `buffer`, each from one byte of the pattern.
#[inline(always)]
fn write<B: Copy>(buffer: &mut [B], seed: u64, from: impl Fn(u8) -> B) {
    let mut word = seed;
    let (words, rest) = buffer.as_chunks_mut::<8>();
    for bytes in words {
        *bytes = word.to_le_bytes().map(&from);
        word = word.wrapping_add(STEP);
    }
    // Asked first: a call that copies nothing is a sizeable part of a small payload's cost.
    if !rest.is_empty() {
        rest.copy_from_slice(&word.to_le_bytes().map(&from)[..rest.len()]);
    }
}

/// Returns the wrapping sum of the first `len` bytes of the pattern of `seed`, as 64-bit words, the
/// last one filled up with zeros: the sum that a receiver expects, without reading the bytes again.
///
/// ```
/// # use breezeway_measure::pattern;
/// assert_eq!(pattern::sum(20, 7), {
///     let [first, second, third] = pattern::words(7);
///     first.wrapping_add(second).wrapping_add(third & 0xffff_ffff)
/// });
/// ```
#[inline]
#[must_use]
pub fn sum(len: usize, seed: u64) -> u64 {
    let words = len as u64 / 8;
    // One of two numbers that follow each other is even.
    let steps = if words.is_multiple_of(2) {
        (words / 2).wrapping_mul(words.wrapping_sub(1))
    } else {
        words.wrapping_mul(words / 2)
    };
    let whole = words.wrapping_mul(seed).wrapping_add(steps.wrapping_mul(STEP));
    let rest = !(u64::MAX << (8 * (len % 8)));
    whole.wrapping_add(seed_at(seed, len - len % 8) & rest)
}

/// Returns true if every byte of `buffer` is that of the pattern of `seed`.
#[must_use]
#[inline]
pub fn matches(buffer: &[u8], seed: u64) -> bool {
    let mut word = seed;
    // Collects differences instead of leaving early: without a branch the loop is vectorised.
    let mut differences = 0;
    let (words, rest) = buffer.as_chunks::<8>();
    for bytes in words {
        differences |= u64::from_le_bytes(*bytes) ^ word;
        word = word.wrapping_add(STEP);
    }
    differences == 0 && (rest.is_empty() || *rest == word.to_le_bytes()[..rest.len()])
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
    fn rounds_differ_in_every_word() {
        let mut first = [0; 64];
        let mut second = [0; 64];
        fill(&mut first, seed(1));
        fill(&mut second, seed(2));
        assert!(
            first.as_chunks::<8>().0.iter().zip(second.as_chunks::<8>().0).all(|(a, b)| a != b)
        );
    }

    #[test]
    fn a_pattern_can_be_written_in_pieces() {
        let mut pieces = [0; 100];
        for (index, piece) in pieces.chunks_mut(24).enumerate() {
            fill(piece, seed_at(seed(9), index * 24));
        }
        assert!(matches(&pieces, seed(9)));
    }

    #[test]
    fn words_and_bytes_are_the_same_pattern() {
        let mut filled = [0; 52];
        fill(&mut filled, seed(5));
        let bytes = words::<7>(seed(5)).map(u64::to_le_bytes).concat();
        assert_eq!(filled, bytes[..52]);
    }

    #[test]
    fn a_sum_is_that_of_all_words() {
        for size in [0, 1, 7, 8, 9, 40, 64, 100, 4096, 65_541] {
            let mut buffer = vec![0; size];
            fill(&mut buffer, seed(3));
            assert_eq!(sum(size, seed(3)), crate::load::methods::sum(&buffer), "{size}");
        }
    }

    #[test]
    fn an_empty_payload_matches_any_seed() {
        fill(&mut [], 1);
        assert!(matches(&[], 2));
    }
}
