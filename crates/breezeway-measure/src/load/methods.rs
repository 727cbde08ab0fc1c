//! Methods of a server of a load, by number.

/// Replies with the request.
pub const ECHO: u32 = 0;
/// Replies with as many bytes as the request has, and copies the first 8 of them.
pub const HOLLOW: u32 = 1;
/// Counts and sums one-way messages.
pub const SINK: u32 = 2;
/// Replies with the count and the sum of the messages of [`SINK`] and [`GLANCE`], two little-endian
/// u64.
pub const TALLY: u32 = 3;

/// Counts one-way messages and sums the first 8 bytes of each.
pub const GLANCE: u32 = 4;

/// Bytes that [`HOLLOW`] copies and [`GLANCE`] sums.
pub const HOLLOW_BYTES: usize = 8;

/// The wrapping sum of `bytes` as little-endian 64-bit words, the last one filled up with zeros.
#[inline]
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    words
        .iter()
        .fold(u64::from_le_bytes(last), |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn every_byte_counts() {
        assert_eq!(sum(&[]), 0);
        assert_eq!(sum(&[1, 0, 0, 0, 0, 0, 0, 0, 2]), 3);
        assert_eq!(sum(&[0xff; 16]), u64::MAX.wrapping_add(u64::MAX));
    }
}
