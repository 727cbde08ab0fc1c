//! Copies of short strings without a call.

/// Copies `from` to `to`, which have the same length. Up to 32 bytes are copied in overlapping
/// words: most strings are that short, and a call or a mispredicted branch on their length would
/// take longer than the copy.
#[inline(always)]
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    match from.len() {
        8..=32 => copy_words::<8>(from, to),
        4..8 => copy_words::<4>(from, to),
        _ => to.copy_from_slice(from),
    }
}

/// Copies from `N` to `4 * N` bytes in four words.
#[inline(always)]
fn copy_words<const N: usize>(from: &[u8], to: &mut [u8]) {
    let last = from.len() - N;
    for start in [0, last.min(N), last.min(2 * N), last] {
        let word = from[start..].first_chunk::<N>();
        if let (Some(from), Some(to)) = (word, to[start..].first_chunk_mut()) {
            *to = *from;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_length_is_copied_whole() {
        for length in 0..70 {
            let from: Vec<u8> = (1..=length).collect();
            let mut to = vec![0; from.len()];
            super::copy(&from, &mut to);
            assert_eq!(to, from);
        }
    }
}
