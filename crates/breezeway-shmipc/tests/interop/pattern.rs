//! The payload of all programs (`breezeway-measure's `pattern``): word `i` is `seed + i × STEP`,
//! little-endian; the last word may be cut short.

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The seed of round `round`.
pub(crate) fn seed(round: u64) -> u64 {
    round.wrapping_mul(0xD1B5_4A32_D192_ED03)
}

/// Writes the pattern of `seed` into every byte of `buffer`.
pub(crate) fn fill(buffer: &mut [u8], seed: u64) {
    let (words, rest) = buffer.as_chunks_mut::<8>();
    let end = word(seed, words.len()).to_le_bytes();
    for (index, bytes) in words.iter_mut().enumerate() {
        *bytes = word(seed, index).to_le_bytes();
    }
    rest.copy_from_slice(&end[..rest.len()]);
}

/// Whether every byte of `buffer` is that of the pattern of `seed`.
pub(crate) fn matches(buffer: &[u8], seed: u64) -> bool {
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
