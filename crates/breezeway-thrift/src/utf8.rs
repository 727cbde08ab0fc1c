//! Validation of UTF-8 that is not ASCII, eight bytes at a time, without a branch per character
//! that the processor could mispredict.

/// Highest bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Returns true if `bytes` are UTF-8 without characters of four bytes; false also for valid text
/// with such.
#[inline]
pub(crate) fn is_short_utf8(bytes: &[u8]) -> bool {
    let (words, _) = bytes.as_chunks();
    let mut before = Before::default();
    // The last word ends with a zero byte at least, so that no character can continue behind the
    // end.
    words.iter().all(|word| before.precedes(u64::from_le_bytes(*word)))
        && before.precedes(last(bytes))
}

/// Returns the bytes behind the last whole word, padded with zeros.
#[inline(always)]
fn last(bytes: &[u8]) -> u64 {
    let length = bytes.len() % 8;
    if length == 0 {
        return 0;
    }
    if let Some(word) = bytes.last_chunk() {
        return u64::from_le_bytes(*word) >> (64 - 8 * length);
    }
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // The two overlap with the same bytes.
        (Some(first), Some(last)) => {
            let [first, last] = [first, last].map(|half| u64::from(u32::from_le_bytes(*half)));
            first | last << (8 * (length - 4))
        }
        _ => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// State of the preceding word, by the highest bit of each byte.
#[derive(Default)]
struct Before {
    /// First bytes of characters of two bytes and more.
    first: u64,
    /// First bytes of characters of three bytes.
    first_of_3: u64,
    /// First bytes that a second byte below 0xa0 would make overlong, and those that a second byte
    /// from 0xa0 on would make surrogates.
    zero: u64,
    surrogate: u64,
}

impl Before {
    /// Returns true if the next word may follow.
    #[inline(always)]
    fn precedes(&mut self, word: u64) -> bool {
        let [bit_7, bit_6, bit_5, bit_4] = [0, 1, 2, 3].map(|by| word << by & HIGH);
        let first = bit_7 & bit_6;
        let first_of_3 = first & bit_5;
        let first_of_2 = first & !bit_5;
        // Below, the highest bit of a sum shows whether a number of few bits is not 0.
        let low_bits = word & 0x0f0f_0f0f_0f0f_0f0f;
        let zero = first_of_3 & !(low_bits + 0x7f7f_7f7f_7f7f_7f7f);
        let surrogate = first_of_3 & !((low_bits ^ 0x0d0d_0d0d_0d0d_0d0d) + 0x7f7f_7f7f_7f7f_7f7f);
        let needless = first_of_2 & !((word & 0x1e1e_1e1e_1e1e_1e1e) + 0x7e7e_7e7e_7e7e_7e7e);
        let behind =
            |now: u64, before: u64, bytes: u32| now << (8 * bytes) | before >> (64 - 8 * bytes);
        let needed = behind(first, self.first, 1) | behind(first_of_3, self.first_of_3, 2);
        let wrong = needed ^ (bit_7 & !bit_6)
            | first_of_3 & bit_4
            | needless
            | behind(zero, self.zero, 1) & !bit_5
            | behind(surrogate, self.surrogate, 1) & bit_5;
        *self = Self { first, first_of_3, zero, surrogate };
        wrong == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the standard library's result for the same bytes.
    fn meant(bytes: &[u8]) -> bool {
        std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(|it| it.len_utf8() < 4))
    }

    #[test]
    fn three_byte_edges_match_standard_library() {
        const EDGES: [u8; 14] =
            [0, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xdf, 0xe1, 0xf0, 0xff];
        for first in 0..=255 {
            for second in EDGES {
                for third in EDGES {
                    for start in 0..9 {
                        for end in [0, 1, 10] {
                            let mut bytes = vec![b'x'; start];
                            bytes.extend([first, second, third]);
                            bytes.resize(start + 3 + end, b'y');
                            assert_eq!(is_short_utf8(&bytes), meant(&bytes), "{bytes:x?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn text_with_any_changed_byte_matches_standard_library() {
        let characters = "a楼é\u{800}\u{7ff}\u{d7ff}\u{e000}\u{ffff}한ß，0";
        for turn in 0..characters.chars().count() {
            let mut text = String::new();
            for character in characters.chars().cycle().skip(turn).take(20) {
                text.push(character);
                assert!(is_short_utf8(text.as_bytes()), "{text}");
                let mut bytes = text.clone().into_bytes();
                for index in 0..bytes.len() {
                    let right = bytes[index];
                    for wrong in [0x41, 0x80, 0xbf, 0xc1, 0xc3, 0xe0, 0xed, 0xef, 0xf0, 0xff] {
                        bytes[index] = wrong;
                        assert_eq!(is_short_utf8(&bytes), meant(&bytes), "{bytes:x?}");
                    }
                    bytes[index] = right;
                }
                for end in 0..bytes.len() {
                    assert_eq!(is_short_utf8(&bytes[..end]), meant(&bytes[..end]), "{text} {end}");
                }
            }
        }
    }

    #[test]
    fn four_byte_characters_are_not_short_utf8() {
        assert!(!is_short_utf8("🦀".as_bytes()) && !is_short_utf8("楼楼楼🦀x".as_bytes()));
    }
}
