//! The payload of all programs, also of `bench/shmipc-rs` (`breezeway-measure's `pattern``): word
//! `i` is `seed + i × STEP`, little-endian; the last word may be cut short.

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Returns the seed of round `round`.
pub(crate) fn seed(round: u64) -> u64 {
    round.wrapping_mul(0xD1B5_4A32_D192_ED03)
}

/// Writes the pattern of `seed` into every byte of `buffer`.
pub(crate) fn fill(buffer: &mut [u8], seed: u64) {
    let mut word = seed;
    let (words, rest) = buffer.as_chunks_mut::<8>();
    for bytes in words {
        *bytes = word.to_le_bytes();
        word = word.wrapping_add(STEP);
    }
    rest.copy_from_slice(&word.to_le_bytes()[..rest.len()]);
}

/// Returns true if every byte of `buffer` matches the pattern of `seed`.
pub(crate) fn matches(buffer: &[u8], seed: u64) -> bool {
    let mut word = seed;
    // Collects differences instead of leaving early: without a branch the loop is vectorised.
    let mut differences = 0;
    let (words, rest) = buffer.as_chunks::<8>();
    for bytes in words {
        differences |= u64::from_le_bytes(*bytes) ^ word;
        word = word.wrapping_add(STEP);
    }
    differences == 0 && *rest == word.to_le_bytes()[..rest.len()]
}
