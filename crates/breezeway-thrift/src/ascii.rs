//! Fast check for plain ASCII text, the most common kind.

/// Bits that no ASCII byte has.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Returns true if all bytes are ASCII. Up to 32 bytes are read in overlapping words: four for any
/// length from 8 on, so that no branch depends on the length that the processor could mispredict.
#[inline(always)]
pub(crate) fn is_ascii(bytes: &[u8]) -> bool {
    match bytes.len() {
        8..=32 => {
            let last = bytes.len() - 8;
            let starts = [0, last.min(8), last.min(16), last];
            starts.into_iter().fold(0, |all, start| all | word(&bytes[start..])) & HIGH == 0
        }
        33.. => bytes.is_ascii(),
        4.. => (half(bytes) | half(&bytes[bytes.len() - 4..])) & HIGH as u32 == 0,
        _ => bytes.iter().fold(0, |all, byte| all | byte) < 0x80,
    }
}

#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(HIGH, |word| u64::from_ne_bytes(*word))
}

#[inline(always)]
fn half(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(HIGH as u32, |half| u32::from_ne_bytes(*half))
}
