//! Text that is plain ASCII, as most is, seen quickly.

/// The bits that no byte of ASCII has.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Whether all bytes are ASCII. Up to 32 bytes are looked at in words that overlap, without a loop.
#[inline(always)]
pub(crate) fn is_ascii(bytes: &[u8]) -> bool {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
        if bytes.len() <= 32 {
            return high_bits(first) | high_bits(last) == 0;
        }
        return bytes.is_ascii();
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        return (u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last)) & HIGH == 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return (u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last)) & HIGH as u32 == 0;
    }
    bytes.iter().fold(0, |all, byte| all | byte) < 0x80
}

#[inline(always)]
fn high_bits(bytes: &[u8; 16]) -> u128 {
    u128::from_ne_bytes(*bytes) & (u128::from(HIGH) << 64 | u128::from(HIGH))
}
