//! Validation of UTF-8 that is not ASCII, sixteen bytes at a time, without a branch per character
//! that the processor could mispredict. The compiler turns the loop over them into vectors.

use crate::short_copy;

/// Bytes that are validated together, with the two bytes before them.
const LANES: usize = 16;
const BLOCK: usize = 2 + LANES;

/// Returns true if `bytes` are UTF-8 without characters of four bytes; false also for valid text
/// with such.
#[inline]
pub(crate) fn is_short_utf8(bytes: &[u8]) -> bool {
    let ([first, second, ..], Some(last)) = (bytes, bytes.last_chunk::<BLOCK>()) else {
        return is_short_utf8_padded(bytes);
    };
    // The text is validated as if it stood between zeros.
    let edges = breaks(0, 0, *first)
        | breaks(0, *first, *second)
        | breaks(last[BLOCK - 2], last[BLOCK - 1], 0)
        | breaks(last[BLOCK - 1], 0, 0);
    // The last block overlaps the one before.
    let blocks = bytes[..bytes.len() - 1].windows(BLOCK).step_by(LANES);
    let blocks = blocks.filter_map(<[u8]>::first_chunk).chain([last]);
    !blocks.fold(edges, |wrong, block| wrong | is_wrong(block))
}

/// Validates text shorter than a block.
#[inline(always)]
fn is_short_utf8_padded(bytes: &[u8]) -> bool {
    let mut padded = [0; BLOCK + 4];
    short_copy::copy(bytes, &mut padded[2..][..bytes.len()]);
    let blocks = [padded.first_chunk(), padded.last_chunk()];
    !blocks.into_iter().flatten().fold(false, |wrong, block| wrong | is_wrong(block))
}

/// Returns true if any byte behind the first two is wrong.
#[inline(always)]
fn is_wrong(block: &[u8; BLOCK]) -> bool {
    let before = block.iter().zip(&block[1..]);
    let bytes = before.zip(&block[2..]);
    bytes.fold(false, |wrong, ((first, second), byte)| wrong | breaks(*first, *second, *byte))
}

/// Returns true if `byte` cannot follow `first` and `second`.
#[inline(always)]
fn breaks(first: u8, second: u8, byte: u8) -> bool {
    let needed = (first >= 0xe0) | (second >= 0xc2);
    let continues = byte & 0xc0 == 0x80;
    let overlong = (byte & 0xfe == 0xc0) | (second == 0xe0) & (byte < 0xa0);
    let surrogate = (second == 0xed) & (byte >= 0xa0);
    (needed != continues) | overlong | surrogate | (byte >= 0xf0)
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
                    for start in 0..17 {
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
